#include "ibv/poster.h"

#include <arpa/inet.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "core/scatter_gather.h"
#include "core/tally.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

constexpr uint32_t kChain = 32;  // requests handed over in one call

constexpr ibv_wr_opcode kHardwareOpcode[] = {
    IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,      IBV_WR_RDMA_WRITE,          IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};

uint32_t refusalOf(int error) {
  if (error == ENOMEM) return kQueueFull;
  return error == ENODEV ? kDeviceRemoved : kDeviceRefused;
}

uint64_t idOf(const WorkRequestSlot& slot) { return slot.idLow | uint64_t(slot.idHigh) << 32; }

}  // namespace

// Requests written and not handed over yet.
template <typename Request>
struct Chain {
  uint32_t count = 0;
  Request requests[kChain];
  ibv_sge entries[kChain][kMaxSge];
  WorkRequestSlot* slots[kChain];

  // Marks the requests from the one the device refused; returns how many those are.
  uint32_t refuse(const Request* bad, int error) {
    const uint32_t first = bad ? uint32_t(bad - requests) : 0;
    for (uint32_t i = first; i < count; ++i) slots[i]->result = i == first ? refusalOf(error) : uint32_t(kWrongState);
    return count - first;
  }
};

struct IbvPoster::Posting {
  explicit Posting(RegionTable& table) : uses(table) {}
  RegionUses uses;
  Chain<ibv_send_wr> sends;
  Chain<ibv_recv_wr> receives;
};

// The entries of a request for the hardware.
struct IbvPoster::Entries {
  ibv_sge* list;  // room for kMaxSge
  int count = 0;
  uint64_t length = 0;
};

// What one entry may be.
struct IbvPoster::Bounds {
  uint32_t pd;
  bool sink;  // written to
  uint64_t longest;
};

// `acquireMany` for one entry, which nearly all requests have: without loops, which cost more than the check.
[[gnu::always_inline]] inline uint32_t IbvPoster::acquireOne(RegionUses& uses, const Sge& entry, const Bounds& bounds,
                                                             RequestRecord& record, ibv_sge& out) {
  Region* const region = uses.add(entry.lkey);
  const RegionKeys& found = keys_[entry.lkey & (kMaxRegions - 1)];
  uint32_t result = checkEntry(region, entry, bounds.pd, bounds.sink);
  if (result == kAccepted && entry.length > bounds.longest) result = kMessageTooLong;
  if (result == kAccepted && !found.local) result = kInvalidLkey;
  if (result != kAccepted) [[unlikely]] {
    uses.settle();
    if (region) RegionTable::drop(region);
    return result;
  }
  record.regions[0] = region;
  record.regionCount = 1;
  out = {entry.address(), entry.length, found.localKey};
  return kAccepted;
}

// Checks and marks the regions of a request, and looks the hardware's keys up. Entries of length 0 are left out: some
// devices take 0 for 2^31.
[[gnu::noinline]] uint32_t IbvPoster::acquireMany(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd,
                                                  RequestRecord& record, Entries& out) {
  if (slot.sgeCount > limits_.maxSge) return kTooManySges;
  const uint32_t result = acquireRegions(uses, slot, pd, record.regions, out.length);
  if (result != kAccepted) return result;
  record.regionCount = uint16_t(slot.sgeCount);
  for (uint32_t i = 0; i < slot.sgeCount; ++i) {
    const Sge& entry = slot.sge[i];
    const RegionKeys& found = keys_[entry.lkey & (kMaxRegions - 1)];
    if (!found.local) {
      uses.settle();
      dropRegions(record.regions, record.regionCount);
      return kInvalidLkey;
    }
    if (entry.length > 0) out.list[out.count++] = {entry.address(), entry.length, found.localKey};
  }
  return kAccepted;
}

[[gnu::always_inline]] inline uint32_t IbvPoster::acquireForSend(IbvQueuePair& qp, const WorkRequestSlot& slot,
                                                                 Posting& posting, RequestRecord& record,
                                                                 Entries& out) {
  const uint32_t pd = qp.parameters.pd;
  const bool atomic = isAtomic(slot.opcode), fetches = slot.opcode == kRead || atomic;
  if (slot.flags & kInline) {
    const uint32_t bytes = slot.sgeCount;
    if (bytes > limits_.maxInlineBytes) return kInlineTooLong;
    if (fetches) return kUnknownOpcode;
    record.regionCount = 0;
    out.count = bytes > 0 ? 1 : 0;
    out.list[0] = {reinterpret_cast<uint64_t>(slot.inlineBytes), bytes, 0};
    return kAccepted;
  }
  if (slot.sgeCount == 1 && !atomic) [[likely]] {
    out.length = slot.sge[0].length;
    out.count = out.length > 0 ? 1 : 0;
    return acquireOne(posting.uses, slot.sge[0], {pd, fetches, limits_.maxMessageBytes}, record, out.list[0]);
  }
  if (atomic && !limits_.atomics) return kUnsupportedOperation;
  if (atomic && (slot.remoteLow & 7) != 0) return kMisalignedAtomic;
  const uint32_t result = acquireMany(posting.uses, slot, pd, record, out);
  if (result != kAccepted || out.length <= limits_.maxMessageBytes) return result;
  posting.uses.settle();
  dropRegions(record.regions, record.regionCount);
  return kMessageTooLong;
}

uint32_t IbvPoster::prepareSend(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting) {
  const QpState state = qp.state.load(std::memory_order_relaxed);
  const uint32_t opcode = slot.opcode, flags = slot.flags;
  if (opcode > kFetchAndAdd) return kUnknownOpcode;
  if (flags & kWaitFor) [[unlikely]]
    return kUnsupportedOperation;
  if (state != kRts && state != kError) return kWrongState;
  Chain<ibv_send_wr>& chain = posting.sends;
  const uint32_t at = chain.count;
  if (!qp.sends.roomFor(at)) return kQueueFull;
  RequestRecord& record = qp.sends.next(at);
  Entries entries{chain.entries[at]};
  if (const uint32_t result = acquireForSend(qp, slot, posting, record, entries); result != kAccepted) return result;
  const bool atomic = isAtomic(opcode);
  unsigned sendFlags = (flags & kInline) && entries.count > 0 ? IBV_SEND_INLINE : 0;
  if (qp.parameters.signalAll || (flags & kSignaled)) sendFlags |= IBV_SEND_SIGNALED;
  if (flags & kFence) sendFlags |= IBV_SEND_FENCE;
  if (flags & kSolicited) sendFlags |= IBV_SEND_SOLICITED;
  record.id = idOf(slot);
  record.opcode = uint16_t(opcode);
  record.bytes = opcode == kRead || atomic ? uint32_t(entries.length) : 0;
  ibv_send_wr& request = chain.requests[at];
  request.wr_id = hardwareId(qp.number, RequestKind::kSend, qp.sends.position() + at);
  request.next = &request + 1;
  request.sg_list = entries.list;
  request.num_sge = entries.count;
  request.opcode = kHardwareOpcode[opcode];
  request.send_flags = sendFlags;
  request.imm_data = htonl(slot.immediate);
  const uint64_t remote = slot.remoteLow | uint64_t(slot.remoteHigh) << 32;
  if (atomic) {
    request.wr.atomic = {remote, slot.compareLow | uint64_t(slot.compareHigh) << 32,
                         slot.swapLow | uint64_t(slot.swapHigh) << 32, slot.rkey};
  } else {
    request.wr.rdma = {remote, slot.rkey};
  }
  chain.slots[at] = &slot;
  chain.count = at + 1;
  return kAccepted;
}

uint32_t IbvPoster::prepareReceive(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting) {
  Chain<ibv_recv_wr>& chain = posting.receives;
  const uint32_t at = chain.count;
  if (qp.shared || (slot.flags & kInline)) return kUnknownOpcode;
  if (!qp.receives.roomFor(at)) return kQueueFull;
  RequestRecord& record = qp.receives.next(at);
  Entries entries{chain.entries[at]};
  uint32_t result;
  if (slot.sgeCount == 1) [[likely]] {
    entries.count = slot.sge[0].length > 0 ? 1 : 0;
    result = acquireOne(posting.uses, slot.sge[0], {qp.parameters.pd, true, kMaxMessageBytes}, record, entries.list[0]);
  } else {
    result = acquireMany(posting.uses, slot, qp.parameters.pd, record, entries);
  }
  if (result != kAccepted) return result;
  record.id = idOf(slot);
  record.opcode = kReceive;
  ibv_recv_wr& request = chain.requests[at];
  request.next = &request + 1;
  request.wr_id = hardwareId(qp.number, RequestKind::kReceive, qp.receives.position() + at);
  request.sg_list = entries.list;
  request.num_sge = entries.count;
  chain.slots[at] = &slot;
  chain.count = at + 1;
  return kAccepted;
}

// Hands over what was prepared, receives first: what is sent may be answered. Returns how many were refused.
uint32_t IbvPoster::handOver(IbvQueuePair& qp, Posting& posting) {
  uint32_t refused = 0;
  posting.uses.settle();
  if (!qp.qp) {  // lost: flushed here, as the device would have done
    qp.receives.add(std::exchange(posting.receives.count, 0));
    qp.sends.add(std::exchange(posting.sends.count, 0));
    IbvErrorState::flushHere(qp, kFlushed);
    return 0;
  }
  if (Chain<ibv_recv_wr>& chain = posting.receives; chain.count > 0) {
    chain.requests[chain.count - 1].next = nullptr;
    ibv_recv_wr* bad = nullptr;
    qp.receives.add(chain.count);
    if (const int error = ibv_post_recv(qp.qp, chain.requests, &bad); error != 0) {
      const uint32_t count = chain.refuse(bad, error);
      qp.receives.takeBack(count);
      refused += count;
    }
    chain.count = 0;
  }
  if (Chain<ibv_send_wr>& chain = posting.sends; chain.count > 0) {
    chain.requests[chain.count - 1].next = nullptr;
    ibv_send_wr* bad = nullptr;
    qp.sends.add(chain.count);
    if (const int error = ibv_post_send(qp.qp, chain.requests, &bad); error != 0) {
      const uint32_t count = chain.refuse(bad, error);
      qp.sends.takeBack(count);
      refused += count;
    }
    chain.count = 0;
  }
  return refused;
}

uint32_t IbvPoster::postToQueuePair(IbvQueuePair& qp, WorkRequestSlot* slots, uint32_t count, bool broken) {
  Posting posting(parts_.regions);
  uint32_t refused = 0;
  bool flushes;
  {
    std::lock_guard guard(qp.posting);
    for (uint32_t i = 0; i < count; ++i) {
      WorkRequestSlot& slot = slots[i];
      if (!qp.qp && (parts_.context.removed || qp.closed)) {
        slot.result = uint32_t(parts_.context.removed ? kDeviceRemoved : kUnknownQueuePair);
      } else if (slot.opcode == kReceive) {
        slot.result = prepareReceive(qp, slot, posting);
      } else {
        // What follows a refused send must not overtake it.
        slot.result = broken ? uint32_t(kWrongState) : prepareSend(qp, slot, posting);
        broken |= slot.result != kAccepted;
      }
      refused += slot.result != kAccepted;
      if (posting.sends.count == kChain || posting.receives.count == kChain) {
        const uint32_t more = handOver(qp, posting);
        refused += more;
        broken |= more > 0;
      }
    }
    refused += handOver(qp, posting);
    flushes = qp.qp && qp.state == kError;
  }
  // Some drivers look at requests of a broken queue pair only when told to.
  if (flushes) parts_.errors.kick(qp);
  return refused;
}

// Returns a PostResult. With the queue's lock held.
uint32_t IbvPoster::postOneShared(IbvSharedReceiveQueue& queue, const WorkRequestSlot& slot) {
  if (!queue.srq) return parts_.context.removed ? kDeviceRemoved : kUnknownQueuePair;
  if (slot.opcode != kReceive || (slot.flags & kInline)) return kUnknownOpcode;
  if (queue.free.empty()) return kQueueFull;
  const uint32_t at = queue.free.back();
  RequestRecord& record = queue.records[at];
  ibv_sge list[kMaxSge];
  Entries entries{list};
  {
    RegionUses uses(parts_.regions);
    const uint32_t result = acquireMany(uses, slot, queue.pd, record, entries);
    if (result != kAccepted) return result;
  }
  ibv_recv_wr request{};
  ibv_recv_wr* bad;
  record.id = idOf(slot);
  request.wr_id = hardwareId(queue.number, RequestKind::kSharedReceive, at);
  request.sg_list = list;
  request.num_sge = entries.count;
  if (const int error = ibv_post_srq_recv(queue.srq, &request, &bad); error != 0) {
    dropRegions(record.regions, record.regionCount);
    record.regionCount = 0;
    return refusalOf(error);
  }
  queue.free.pop_back();
  return kAccepted;
}

uint32_t IbvPoster::postToShared(uint32_t number, WorkRequestSlot* slots, uint32_t count) {
  const auto found = parts_.shared.find(number);
  if (!found) {
    for (uint32_t i = 0; i < count; ++i) slots[i].result = kUnknownQueuePair;
    return count;
  }
  uint32_t refused = 0;
  std::lock_guard guard(found->lock);
  for (uint32_t i = 0; i < count; ++i) {
    slots[i].result = postOneShared(*found, slots[i]);
    refused += slots[i].result != kAccepted;
  }
  return refused;
}

uint32_t IbvPoster::post(WorkRequestSlot* slots, uint32_t count) {
  uint32_t refused = 0;
  for (uint32_t first = 0; first < count;) {
    const uint32_t number = slots[first].queuePair;
    uint32_t end = first + 1;
    while (end < count && slots[end].queuePair == number) ++end;
    const uint32_t run = end - first;
    if (number & kSharedNumber) {
      refused += postToShared(number, slots + first, run);
    } else if (const auto target = parts_.table.find(number)) {
      const bool broken = refused > 0 && refusesSends(slots, first, number);
      refused += postToQueuePair(*target, slots + first, run, broken);
    } else {
      for (uint32_t i = first; i < end; ++i)
        slots[i].result = parts_.context.removed ? kDeviceRemoved : kUnknownQueuePair;
      refused += run;
    }
    first = end;
  }
  tally(requests_, count);
  tally(doorbells_, 1);
  return refused;
}

}  // namespace rdmc

#endif
