// How many receives of a queue pair have succeeded, from the first one on. The counters that processes share have 32
// bits and wrap; this one does not.
//
//     consumed            counted                produced          posted
//   …    | polled, then … | succeeded, not polled | not looked at    |
//
// It ends before the first receive that failed: a wait is satisfied by success only.
#pragma once
#include <cstdint>

namespace rdmc {

class ReceiveCount {
 public:
  constexpr explicit ReceiveCount(uint64_t succeeded = 0) : succeeded_(succeeded) {}
  constexpr uint64_t succeeded() const { return succeeded_; }
  // A receive has failed: the count does not change any more.
  constexpr bool over() const { return over_; }
  constexpr void end() { over_ = true; }
  constexpr void add() { succeeded_ += over_ ? 0 : 1; }
  // How many of the receives from number `from` on are counted; numbers have 32 bits.
  constexpr uint32_t since(uint32_t from) const { return uint32_t(succeeded_) - from; }
  // All receives before number `at` have succeeded.
  constexpr void reach(uint32_t at) {
    const uint32_t more = at - uint32_t(succeeded_);
    if (!over_ && int32_t(more) > 0) succeeded_ += more;
  }

 private:
  uint64_t succeeded_;
  bool over_ = false;
};

constexpr uint64_t reached(uint64_t from, uint32_t at) {
  ReceiveCount count(from);
  count.reach(at);
  return count.succeeded();
}
// Around the end of 32 bits, and never backwards.
static_assert(reached(0xffff'fffe, 3) == (1ull << 32) + 3);
static_assert(reached((1ull << 32) + 3, 0xffff'fffe) == (1ull << 32) + 3);
static_assert(ReceiveCount((1ull << 32) + 2).since(0xffff'fffe) == 4 && reached(5, 5) == 5);

}  // namespace rdmc
