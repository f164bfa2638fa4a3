// A queue without memory while it is empty for the first time: a std::deque takes half a kibibyte when it is made, which thousands
// of idle connections would each hold. The thread that made it owns it.
#pragma once
#include <cstddef>
#include <vector>

namespace rdmc {

template <typename T>
class Fifo {
 public:
  size_t size() const { return items_.size() - first_; }
  bool empty() const { return size() == 0; }
  T& front() { return items_[first_]; }
  void push_back(const T& item) {
    // No more are moved than were removed.
    if (first_ > 0 && items_.size() == items_.capacity() && first_ >= items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + ptrdiff_t(first_));
      first_ = 0;
    }
    items_.push_back(item);
  }
  void pop_front() {
    ++first_;
    if (empty()) clear();
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  size_t first_ = 0;  // those before it are removed
};

}  // namespace rdmc
