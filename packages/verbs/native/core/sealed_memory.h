// Memory files that processes hand to each other. A file that shrinks kills every process that touches a mapping of it
// (SIGBUS), and whoever holds a descriptor can shrink it. So the size of what is handed out is sealed, and what is
// received without those seals is not mapped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/raii.h"

namespace rdmc {

// A new memory file of `length` zeros whose size nobody can change. Throws Failure.
Fd createSealedMemory(const char* name, size_t length);
// Throws Failure ERR_RDMC_CONNECT_FAILED where the file's size can be changed; `what` begins the sentence.
void requireSealed(const Fd& fd, const std::string& what);
// The size of a file, 0 where it cannot be found out. Final once it is sealed.
uint64_t memoryBytes(const Fd& fd);

}  // namespace rdmc
