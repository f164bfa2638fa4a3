// Counting without locked additions.
#pragma once
#include <atomic>
#include <cstdint>

namespace rdmc {

// Statistics: that two threads at once may lose an addition is cheaper than a locked one in every call.
inline void tally(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace rdmc
