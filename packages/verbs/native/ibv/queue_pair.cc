#include "ibv/queue_pair.h"

#if RDMC_WITH_IBVERBS

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

namespace rdmc {

RequestRing::RequestRing(uint32_t depth)
    : depth_(depth), mask_(std::bit_ceil(depth) - 1), records_(std::make_unique<RequestRecord[]>(mask_ + 1)) {}

void RequestRing::drop(RequestRecord& record) {
  dropRegions(record.regions, record.regionCount);
  record.regionCount = 0;
}

void RequestRing::takeBack(uint32_t count) {
  const uint32_t end = added_.load(std::memory_order_relaxed);
  for (uint32_t i = 1; i <= count; ++i) drop(records_[(end - i) & mask_]);
  added_.store(end - count, std::memory_order_release);
}

bool RequestRing::names(const Region& region) const {
  const uint32_t end = added_.load(std::memory_order_acquire);
  for (uint32_t at = removed_.load(std::memory_order_acquire); at != end; ++at) {
    const RequestRecord& record = records_[at & mask_];
    const std::span used(record.regions, record.regionCount);
    if (std::ranges::find(used, &region) != used.end()) return true;
  }
  return false;
}

IbvSharedReceiveQueue::IbvSharedReceiveQueue(uint32_t number, uint32_t pd, uint32_t depth)
    : number(number), pd(pd), records(depth), free(depth) {
  std::iota(free.begin(), free.end(), 0u);
}

void IbvSharedReceiveQueue::dropAll() {
  for (RequestRecord& record : records) {
    dropRegions(record.regions, record.regionCount);
    record.regionCount = 0;
  }
}

}  // namespace rdmc

#endif
