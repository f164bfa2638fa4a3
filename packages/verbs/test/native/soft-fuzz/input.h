// What a target takes off an input, from front to back. An input that has ended goes on with zeros.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rdmc::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : next_(data), left_(size) {}
  bool ended() const { return left_ == 0; }
  uint8_t byte() {
    uint8_t value = 0;
    fill(value);
    return value;
  }
  // Returns how many bytes the input had for it.
  template <typename T>
  size_t fill(T& value) {
    const size_t length = std::min(sizeof value, left_);
    std::memset(static_cast<void*>(&value), 0, sizeof value);
    std::memcpy(static_cast<void*>(&value), next_, length);
    next_ += length;
    left_ -= length;
    return length;
  }
  const uint8_t* rest() const { return next_; }
  size_t left() const { return left_; }

 private:
  const uint8_t* next_;
  size_t left_;
};

}  // namespace rdmc::fuzz
