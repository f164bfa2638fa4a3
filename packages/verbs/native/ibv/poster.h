// Hands work requests to an RDMA device: the provider is called once per run of requests to one queue, and nothing is
// allocated.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/constants.h"
#include "ibv/context.h"
#include "ibv/error_state.h"
#include "ibv/limits.h"
#include "ibv/queue_pair_table.h"
#include "ibv/registrations.h"
#include "ibv/shared_receive_queues.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvPoster {
 public:
  struct Parts {
    const IbvContext& context;
    RegionTable& regions;
    const IbvRegistrations& registrations;
    IbvQueuePairTable& table;
    IbvSharedReceiveQueues& shared;
    IbvErrorState& errors;
  };
  IbvPoster(const Parts& parts, const IbvLimits& limits)
      : parts_(parts), keys_(parts.registrations.keys()), limits_(limits) {}

  // Writes each slot's result. Returns how many were refused.
  uint32_t post(WorkRequestSlot* slots, uint32_t count);
  uint64_t requests() const { return requests_; }
  uint64_t doorbells() const { return doorbells_; }

 private:
  struct Posting;
  struct Entries;
  struct Bounds;
  uint32_t acquireOne(RegionUses& uses, const Sge& entry, const Bounds& bounds, RequestRecord& record, ibv_sge& out);
  uint32_t acquireMany(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd, RequestRecord& record, Entries& out);
  uint32_t acquireForSend(IbvQueuePair& qp, const WorkRequestSlot& slot, Posting& posting, RequestRecord& record,
                          Entries& out);
  uint32_t prepareSend(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting);
  uint32_t prepareReceive(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting);
  uint32_t handOver(IbvQueuePair& qp, Posting& posting);
  uint32_t postToQueuePair(IbvQueuePair& qp, WorkRequestSlot* slots, uint32_t count, bool broken);
  uint32_t postToShared(uint32_t number, WorkRequestSlot* slots, uint32_t count);
  uint32_t postOneShared(IbvSharedReceiveQueue& queue, const WorkRequestSlot& slot);

  const Parts parts_;
  const RegionKeys* const keys_;
  const IbvLimits limits_;  // a copy: they are looked at for every request
  std::atomic<uint64_t> requests_{0}, doorbells_{0};
};

}  // namespace rdmc

#endif
