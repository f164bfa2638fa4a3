// Faults for the soft device in this process: system calls that fail, threads that throw, time that passes at once, and
// a look at what happens between two instructions of another's.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>

namespace rdmc::faults {

// How many calls fail from now on: accept4 with EMFILE; epoll_ctl that adds a listener, with ENOSPC; memfd_create with
// EMFILE.
extern int failingAccepts, failingWatches;
extern bool noFiles;
// This thread has no memory left.
extern thread_local bool noMemory;
// Of the calls of mmap that put fresh memory under a region, those after so many fail with ENOMEM; -1: none.
extern int freshMappings;
// The thread of this name runs out of memory at its next wake-up.
void doom(const char* thread);
// The clocks of this process go forward.
void pass(std::chrono::seconds time);

// Calls `then` at the first access to [at, at + length) that `protection` does not allow; then all are allowed. For
// whole pages. The thread goes on with that very access.
class Trap {
 public:
  Trap(void* at, size_t length, int protection, std::function<void()> then);
  ~Trap();
  bool sprung() const;
};

}  // namespace rdmc::faults
