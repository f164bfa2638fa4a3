// How fast one host can copy: the upper bound for the soft device.
#pragma once
#include <cstdint>

namespace rdmc {

// Every thread copies `totalBytes` block by block between two faulted-in shared mappings of its own, with
// memcpy. Returns the seconds from the common start until the last has ended.
double measureCopy(uint64_t totalBytes, uint64_t blockBytes, uint32_t threads);

}  // namespace rdmc
