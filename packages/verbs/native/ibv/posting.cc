// Work requests on their way to the device. Nothing is allocated here, and the provider is called once per run of
// requests to one queue.
#include <arpa/inet.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "core/scatter_gather.h"
#include "core/tally.h"
#include "ibv/device.h"

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

// Entries of length 0 are left out: some devices take 0 for 2^31.
uint32_t translateEntries(const WorkRequestSlot& slot, const uint32_t* keys, ibv_sge* out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < slot.sgeCount; ++i) {
    if (slot.sge[i].length == 0) continue;
    out[count].addr = slot.sge[i].address();
    out[count].length = slot.sge[i].length;
    out[count].lkey = keys[i];
    ++count;
  }
  return count;
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

// `acquire` and `translateEntries` for one entry, which nearly all requests have: without loops, which cost more than
// the check.
inline uint32_t IbvDevice::acquireOne(RegionUses& uses, const Sge& entry, uint32_t pd, bool sink, uint64_t longest,
                                      RequestRecord& record, ibv_sge& out) {
  Region* const region = uses.add(entry.lkey);
  const RegionKeys& found = keys_[entry.lkey & (kMaxRegions - 1)];
  uint32_t result = checkEntry(region, entry, pd, sink);
  if (result == kAccepted && entry.length > longest) result = kMessageTooLong;
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

// Checks and marks the regions of a request, and looks the hardware's keys up.
uint32_t IbvDevice::acquire(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd, RequestRecord& record,
                            uint32_t* keys, uint64_t& length) {
  if (slot.sgeCount > limits_.maxSge) return kTooManySges;
  const uint32_t result = acquireRegions(uses, slot, pd, record.regions, length);
  if (result != kAccepted) return result;
  record.regionCount = uint16_t(slot.sgeCount);
  for (uint32_t i = 0; i < slot.sgeCount; ++i) {
    const RegionKeys& found = keys_[slot.sge[i].lkey & (kMaxRegions - 1)];
    keys[i] = found.localKey;
    if (found.local) continue;
    uses.settle();
    dropRegions(record.regions, record.regionCount);
    return kInvalidLkey;
  }
  return kAccepted;
}

struct IbvDevice::Posting {
  explicit Posting(RegionTable& table) : uses(table) {}
  RegionUses uses;
  Chain<ibv_send_wr> sends;
  Chain<ibv_recv_wr> receives;
};

// The entries of a request that is neither inline nor has one.
[[gnu::noinline]] uint32_t IbvDevice::acquireMany(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd,
                                                  RequestRecord& record, ibv_sge* out, uint64_t& length, int& count) {
  uint32_t keys[kMaxSge];
  const uint32_t result = acquire(uses, slot, pd, record, keys, length);
  if (result == kAccepted) count = int(translateEntries(slot, keys, out));
  return result;
}

uint32_t IbvDevice::prepareSend(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting) {
  const QpState state = qp.state.load(std::memory_order_relaxed);
  const uint32_t opcode = slot.opcode, flags = slot.flags, entryCount = slot.sgeCount;
  if (opcode > kFetchAndAdd) return kUnknownOpcode;
  if (state != kRts && state != kError) return kWrongState;
  Chain<ibv_send_wr>& chain = posting.sends;
  const uint32_t at = chain.count;
  if (!qp.sends.roomFor(at)) return kQueueFull;
  RequestRecord& record = qp.sends.next(at);
  ibv_send_wr& request = chain.requests[at];
  ibv_sge* entries = chain.entries[at];
  const bool atomic = isAtomic(opcode), fetches = opcode == kRead || atomic;
  unsigned sendFlags = 0;
  uint64_t length = 0;
  int count = 0;
  if (flags & kInline) {
    if (entryCount > limits_.maxInlineBytes) return kInlineTooLong;
    if (fetches) return kUnknownOpcode;
    record.regionCount = 0;
    sendFlags = entryCount > 0 ? IBV_SEND_INLINE : 0;
    count = entryCount > 0 ? 1 : 0;
    entries[0] = {reinterpret_cast<uint64_t>(slot.inlineBytes), entryCount, 0};
  } else if (entryCount == 1 && !atomic) [[likely]] {
    length = slot.sge[0].length;
    const uint32_t result =
        acquireOne(posting.uses, slot.sge[0], qp.parameters.pd, fetches, limits_.maxMessageBytes, record, entries[0]);
    if (result != kAccepted) return result;
    count = length > 0 ? 1 : 0;
  } else {
    if (atomic && !limits_.atomics) return kUnsupportedOperation;
    if (atomic && (slot.remoteLow & 7) != 0) return kMisalignedAtomic;
    const uint32_t result = acquireMany(posting.uses, slot, qp.parameters.pd, record, entries, length, count);
    if (result != kAccepted) return result;
    if (length > limits_.maxMessageBytes) {
      posting.uses.settle();
      dropRegions(record.regions, record.regionCount);
      return kMessageTooLong;
    }
  }
  if (qp.parameters.signalAll || (flags & kSignaled)) sendFlags |= IBV_SEND_SIGNALED;
  if (flags & kFence) sendFlags |= IBV_SEND_FENCE;
  if (flags & kSolicited) sendFlags |= IBV_SEND_SOLICITED;
  record.id = idOf(slot);
  record.opcode = uint16_t(opcode);
  record.bytes = fetches ? uint32_t(length) : 0;
  request.wr_id = hardwareId(qp.number, RequestKind::kSend, qp.sends.position() + at);
  request.next = &request + 1;
  request.sg_list = entries;
  request.num_sge = count;
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

uint32_t IbvDevice::prepareReceive(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting) {
  Chain<ibv_recv_wr>& chain = posting.receives;
  const uint32_t at = chain.count;
  if (qp.shared || (slot.flags & kInline)) return kUnknownOpcode;
  if (!qp.receives.roomFor(at)) return kQueueFull;
  RequestRecord& record = qp.receives.next(at);
  ibv_sge* entries = chain.entries[at];
  uint64_t length;
  int count;
  uint32_t result;
  if (slot.sgeCount == 1) [[likely]] {
    count = slot.sge[0].length > 0 ? 1 : 0;
    result = acquireOne(posting.uses, slot.sge[0], qp.parameters.pd, true, kMaxMessageBytes, record, entries[0]);
  } else {
    result = acquireMany(posting.uses, slot, qp.parameters.pd, record, entries, length, count);
  }
  if (result != kAccepted) return result;
  record.id = idOf(slot);
  record.opcode = kReceive;
  ibv_recv_wr& request = chain.requests[at];
  request.next = &request + 1;
  request.wr_id = hardwareId(qp.number, RequestKind::kReceive, qp.receives.position() + at);
  request.sg_list = entries;
  request.num_sge = count;
  chain.slots[at] = &slot;
  chain.count = at + 1;
  return kAccepted;
}

// Hands over what was prepared, receives first: what is sent may be answered. Returns how many were refused.
uint32_t IbvDevice::handOver(IbvQueuePair& qp, Posting& posting) {
  uint32_t refused = 0;
  posting.uses.settle();
  if (!qp.qp) {  // lost: flushed here, as the device would have done
    qp.receives.add(std::exchange(posting.receives.count, 0));
    qp.sends.add(std::exchange(posting.sends.count, 0));
    flushHere(qp, kFlushed);
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

uint32_t IbvDevice::postToQueuePair(IbvQueuePair& qp, WorkRequestSlot* slots, uint32_t count, bool broken) {
  Posting posting(regions_);
  uint32_t refused = 0;
  bool flushes;
  {
    std::lock_guard guard(qp.posting);
    for (uint32_t i = 0; i < count; ++i) {
      WorkRequestSlot& slot = slots[i];
      if (!qp.qp && (removed_ || qp.closed)) {
        slot.result = uint32_t(removed_ ? kDeviceRemoved : kUnknownQueuePair);
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
  if (flushes) kick(qp);
  return refused;
}

uint32_t IbvDevice::postToShared(uint32_t number, WorkRequestSlot* slots, uint32_t count) {
  const auto found = findShared(number);
  if (!found) {
    for (uint32_t i = 0; i < count; ++i) slots[i].result = kUnknownQueuePair;
    return count;
  }
  IbvSharedReceiveQueue& queue = *found;
  uint32_t refused = 0;
  std::lock_guard guard(queue.lock);
  for (uint32_t i = 0; i < count; ++i) {
    WorkRequestSlot& slot = slots[i];
    uint32_t keys[kMaxSge];
    uint64_t length;
    RegionUses uses(regions_);
    slot.result = kAccepted;
    if (!queue.srq) {
      slot.result = uint32_t(removed_ ? kDeviceRemoved : kUnknownQueuePair);
    } else if (slot.opcode != kReceive || (slot.flags & kInline)) {
      slot.result = kUnknownOpcode;
    } else if (queue.free.empty()) {
      slot.result = kQueueFull;
    } else if (RequestRecord& record = queue.records[queue.free.back()];
               (slot.result = acquire(uses, slot, queue.pd, record, keys, length)) == kAccepted) {
      uses.settle();
      ibv_sge entries[kMaxSge];
      ibv_recv_wr request{};
      ibv_recv_wr* bad;
      record.id = idOf(slot);
      request.wr_id = hardwareId(queue.number, RequestKind::kSharedReceive, queue.free.back());
      request.sg_list = entries;
      request.num_sge = int(translateEntries(slot, keys, entries));
      if (const int error = ibv_post_srq_recv(queue.srq, &request, &bad); error != 0) {
        dropRegions(record.regions, record.regionCount);
        record.regionCount = 0;
        slot.result = refusalOf(error);
      } else {
        queue.free.pop_back();
      }
    }
    refused += slot.result != kAccepted;
  }
  return refused;
}

uint32_t IbvDevice::post(WorkRequestSlot* slots, uint32_t count) {
  uint32_t refused = 0;
  for (uint32_t first = 0; first < count;) {
    const uint32_t number = slots[first].queuePair;
    uint32_t end = first + 1;
    while (end < count && slots[end].queuePair == number) ++end;
    const uint32_t run = end - first;
    if (number & kSharedNumber) {
      refused += postToShared(number, slots + first, run);
    } else if (const auto target = qp(number)) {
      const bool broken = refused > 0 && refusesSends(slots, first, number);
      refused += postToQueuePair(*target, slots + first, run, broken);
    } else {
      for (uint32_t i = first; i < end; ++i) slots[i].result = removed_ ? kDeviceRemoved : kUnknownQueuePair;
      refused += run;
    }
    first = end;
  }
  tally(counters_.requests, count);
  tally(counters_.doorbells, 1);
  return refused;
}

}  // namespace rdmc

#endif
