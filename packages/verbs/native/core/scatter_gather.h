// The scatter/gather list of a work request, checked against the regions it names. Inline: it runs for every request,
// and a call would cost as much as the check.
#pragma once
#include <atomic>

#include "core/constants.h"
#include "core/region_table.h"

namespace rdmc {

constexpr bool isAtomic(uint32_t opcode) { return opcode == kCompareAndSwap || opcode == kFetchAndAdd; }

// Whether the operation takes a receive of the peer.
constexpr bool takesReceive(uint32_t opcode) { return opcode <= kSendWithImm || opcode == kWriteWithImm; }

constexpr bool carriesImmediate(uint32_t opcode) { return opcode == kSendWithImm || opcode == kWriteWithImm; }

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

// Marks regions as used. The requests of one batch mostly name the same region: its later uses are counted here and
// added together, because an atomic addition costs as much as the rest of a request. The region cannot be closed
// meanwhile: the first use is marked at once.
class RegionUses {
 public:
  explicit RegionUses(RegionTable& table) : table_(table) {}
  ~RegionUses() { settle(); }
  RegionUses(const RegionUses&) = delete;
  RegionUses& operator=(const RegionUses&) = delete;

  // nullptr when the key is not valid.
  Region* add(uint32_t key) {
    if (last_ && key == lastKey_) {
      ++more_;
      return last_;
    }
    settle();
    last_ = table_.acquire(key);
    lastKey_ = key;
    return last_;
  }
  // Needed before a request is handed over, and before anything is dropped.
  void settle() {
    if (last_ && more_ > 0) last_->outstanding.fetch_add(more_, std::memory_order_seq_cst);
    more_ = 0;
    last_ = nullptr;
  }

 private:
  RegionTable& table_;
  Region* last_ = nullptr;
  uint32_t lastKey_ = 0, more_ = 0;
};

// The same for the end of uses.
class RegionDrops {
 public:
  RegionDrops() = default;
  ~RegionDrops() { settle(); }
  RegionDrops(const RegionDrops&) = delete;
  RegionDrops& operator=(const RegionDrops&) = delete;

  void add(Region* region) {
    if (region != last_) settle();
    last_ = region;
    ++count_;
  }
  void settle() {
    if (last_ && count_ > 0) last_->outstanding.fetch_sub(count_, std::memory_order_seq_cst);
    count_ = 0;
  }

 private:
  Region* last_ = nullptr;
  uint32_t count_ = 0;
};

inline void dropRegions(Region* const* regions, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) RegionTable::drop(regions[i]);
}

inline uint32_t checkEntry(const Region* region, const Sge& entry, uint32_t pd, bool sink) {
  if (!region || region->protectionDomain != pd) return kInvalidLkey;
  if (entry.address() < region->address || entry.length > region->length ||
      entry.address() - region->address > region->length - entry.length) {
    return kOutOfBounds;
  }
  return sink && !(region->access & kLocalWrite) ? kAccessDenied : kAccepted;
}

// Marks every region of the list as used once more; `regions` must have room for kMaxSge. Returns a PostResult;
// unless it is kAccepted, no region is marked.
inline uint32_t acquireRegions(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd, Region** regions,
                               uint64_t& length) {
  length = 0;
  if (slot.sgeCount > kMaxSge) return kTooManySges;
  // READs and atomics write what they fetch into local memory.
  const bool sink = slot.opcode == kRead || isAtomic(slot.opcode) || slot.opcode == kReceive;
  for (uint32_t i = 0; i < slot.sgeCount; ++i) {
    Region* region = uses.add(slot.sge[i].lkey);
    const uint32_t result = checkEntry(region, slot.sge[i], pd, sink);
    if (result != kAccepted) {
      uses.settle();
      if (region) RegionTable::drop(region);
      dropRegions(regions, i);
      return result;
    }
    regions[i] = region;
    length += slot.sge[i].length;
  }
  if (length <= kMaxMessageBytes && (!isAtomic(slot.opcode) || length == 8)) return kAccepted;
  uses.settle();
  dropRegions(regions, slot.sgeCount);
  return isAtomic(slot.opcode) ? kMisalignedAtomic : kMessageTooLong;
}

}  // namespace rdmc
