// How many objects a device of any kind can have, and how many bits of their numbers are the index. The other bits are
// a generation, so that a stale number is detected.
#pragma once
#include <cstdint>

namespace rdmc {

constexpr uint32_t kRegionIndexBits = 14;
constexpr uint32_t kMaxRegions = 1u << kRegionIndexBits;
constexpr uint32_t kQpIndexBits = 13;
constexpr uint32_t kMaxQps = 1u << kQpIndexBits;

}  // namespace rdmc
