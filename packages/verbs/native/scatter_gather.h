// The scatter/gather list of a work request, checked against the regions it names.
#pragma once
#include "constants.h"
#include "region_table.h"

namespace rdmc {

constexpr bool isAtomic(uint32_t opcode) { return opcode == kCompareAndSwap || opcode == kFetchAndAdd; }

constexpr uint32_t completionOpcode(uint32_t opcode) {
  switch (opcode) {
    case kWrite:
    case kWriteWithImm:
      return kCompletedWrite;
    case kRead:
      return kCompletedRead;
    case kCompareAndSwap:
      return kCompletedCompareAndSwap;
    case kFetchAndAdd:
      return kCompletedFetchAndAdd;
    default:
      return kCompletedSend;
  }
}

// Marks every region of the list as used once more; `regions` must have room for kMaxSge. Returns a PostResult;
// unless it is kAccepted, no region is marked.
uint32_t acquireRegions(RegionTable& table, const WorkRequestSlot& slot, uint32_t pd, Region** regions,
                        uint64_t& length);

inline void dropRegions(Region* const* regions, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) RegionTable::drop(regions[i]);
}

}  // namespace rdmc
