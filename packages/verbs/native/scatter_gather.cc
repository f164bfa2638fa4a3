#include "scatter_gather.h"

namespace rdmc {
namespace {

uint32_t check(const Region* region, const Sge& entry, uint32_t pd, bool sink) {
  if (!region || region->protectionDomain != pd) return kInvalidLkey;
  if (entry.address() < region->address || entry.length > region->length ||
      entry.address() - region->address > region->length - entry.length) {
    return kOutOfBounds;
  }
  return sink && !(region->access & kLocalWrite) ? kAccessDenied : kAccepted;
}

}  // namespace

uint32_t acquireRegions(RegionTable& table, const WorkRequestSlot& slot, uint32_t pd, Region** regions,
                        uint64_t& length) {
  length = 0;
  if (slot.sgeCount > kMaxSge) return kTooManySges;
  // READs and atomics write what they fetch into local memory.
  const bool sink = slot.opcode == kRead || isAtomic(slot.opcode) || slot.opcode == kReceive;
  for (uint32_t i = 0; i < slot.sgeCount; ++i) {
    Region* region = table.acquire(slot.sge[i].lkey);
    const uint32_t result = check(region, slot.sge[i], pd, sink);
    if (result != kAccepted) {
      if (region) RegionTable::drop(region);
      dropRegions(regions, i);
      return result;
    }
    regions[i] = region;
    length += slot.sge[i].length;
  }
  if (length <= kMaxMessageBytes && (!isAtomic(slot.opcode) || length == 8)) return kAccepted;
  dropRegions(regions, slot.sgeCount);
  return isAtomic(slot.opcode) ? kMisalignedAtomic : kMessageTooLong;
}

}  // namespace rdmc
