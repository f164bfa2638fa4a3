// Memory files that processes share. When a file shrinks, a process that touches its mapping is killed (SIGBUS), and
// every process with a descriptor can shrink it. So this process seals the size of the files that it shares, and does
// not map a file that it receives without those seals.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/raii.h"

namespace rdmc {

// A new memory file of `length` zeros whose size is sealed. Throws Failure.
Fd createSealedMemory(const char* name, size_t length);
// Throws Failure ERR_RDMC_CONNECT_FAILED where the file's size can be changed; `what` begins the sentence.
void requireSealed(const Fd& fd, const std::string& what);
// The size of a file, 0 where it cannot be found out. Final once it is sealed.
uint64_t memoryBytes(const Fd& fd);

}  // namespace rdmc
