// Up to N elements without an allocation; only added elements are constructed and destroyed. The thread that made it
// owns it.
#pragma once
#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>

namespace rdmc {

template <typename T, uint32_t N>
class FixedVector {
 public:
  FixedVector() {}  // NOLINT(modernize-use-equals-default): the union has no default constructor
  ~FixedVector() { truncate(0); }
  FixedVector(const FixedVector&) = delete;
  FixedVector& operator=(const FixedVector&) = delete;

  uint32_t size() const { return size_; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  T& operator[](uint32_t at) { return items_[at]; }
  void push_back(T&& item) {
    assert(size_ < N);
    std::construct_at(items_ + size_, std::move(item));
    ++size_;
  }
  // Drops the elements from `size` on.
  void truncate(uint32_t size) {
    while (size_ > size) std::destroy_at(items_ + --size_);
  }

 private:
  union {
    T items_[N];
  };
  uint32_t size_ = 0;
};

}  // namespace rdmc
