// Makes revoking, closing and the error state barriers against the NIC thread.
//
// The NIC brackets every access to registered memory (one system call or one copy, at most a quarter of a
// MiB) with enter and leave, and checks after enter whether it is still allowed. A thread that revokes an access first
// makes that visible and then waits: the access that runs ends, and the next one fails the check. This is not a lock,
// so it does not matter which locks either side holds, and the NIC itself never waits here.
#pragma once
#include <time.h>

#include <atomic>
#include <cstdint>

#include "core/raii.h"

namespace rdmc {

class TcpTouch {
 public:
  void enter() { count_.fetch_add(1, std::memory_order_seq_cst); }
  void leave() { count_.fetch_add(1, std::memory_order_release); }

  void wait() const {
    const uint64_t seen = count_.load(std::memory_order_seq_cst);
    if ((seen & 1) == 0) return;
    for (int spins = 0; count_.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < 200) {
        cpuRelax();
        continue;
      }
      const timespec nap{0, 20'000};
      ::nanosleep(&nap, nullptr);
    }
  }

 private:
  std::atomic<uint64_t> count_{0};  // odd: memory is being touched
};

}  // namespace rdmc
