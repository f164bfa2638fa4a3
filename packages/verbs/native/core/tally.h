// Counting without locked additions.
#pragma once
#include <atomic>
#include <cstdint>

namespace rdmc {

// For statistics: two threads at once may lose an addition, and no call pays for a locked one.
inline void tally(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace rdmc
