// Locks that know their place in an order. In builds with RDMC_CHECK_LOCKS (npm run test:sanitize -- memory addon), a
// thread that takes a lock while it holds one of the same family that does not come before it ends the process with a
// message. In other builds they are the locks alone.
#pragma once

#if RDMC_CHECK_LOCKS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#endif

namespace rdmc {

#if RDMC_CHECK_LOCKS

// What a thread holds of a family: an enumeration whose values are in the order in which locks are taken.
template <typename Family>
class HeldLocks {
 public:
  static void take(Family place) {
    for (const Family held : held_) {
      if (held < place) continue;
      std::fprintf(stderr, "lock %d is taken while lock %d is held: %s\n", int(place), int(held), __PRETTY_FUNCTION__);
      std::abort();
    }
    held_.push_back(place);
  }
  static void drop(Family place) { held_.erase(std::find(held_.begin(), held_.end(), place)); }

 private:
  static inline thread_local std::vector<Family> held_;
};

template <typename Lock, auto place>
class Ordered {
 public:
  void lock() {
    Held::take(place);
    lock_.lock();
  }
  void unlock() {
    lock_.unlock();
    Held::drop(place);
  }
  void lock_shared() {
    Held::take(place);
    lock_.lock_shared();
  }
  void unlock_shared() {
    lock_.unlock_shared();
    Held::drop(place);
  }

 private:
  using Held = HeldLocks<decltype(place)>;
  Lock lock_;
};

#else

template <typename Lock, auto place>
using Ordered = Lock;

#endif

}  // namespace rdmc
