// One quantum of each kind of request: what the initiator's thread copies, and what it publishes.
#include <algorithm>
#include <cstring>

#include "core/copy.h"
#include "core/scatter_gather.h"
#include "soft/device.h"
#include "soft/shm/wire.h"

namespace rdmc {
namespace {

// Walks a request's local memory, inline bytes included.
uint8_t* localAt(WorkRequest& request, uint64_t offset, uint64_t& contiguous) {
  if (request.flags & kInline) {
    contiguous = request.length - offset;
    return request.inlineBytes + offset;
  }
  for (uint32_t i = 0; i < request.sgeCount; ++i) {
    const LocalSge& sge = request.sge[i];
    if (offset < sge.length) {
      contiguous = sge.length - offset;
      return reinterpret_cast<uint8_t*>(sge.address + offset);
    }
    offset -= sge.length;
  }
  contiguous = 0;
  return nullptr;
}

}  // namespace

ShmWire::Step ShmWire::stepWrite(QueuePair& qp, WorkRequest& request) {
  const bool immediate = request.opcode == kWriteWithImm;
  if (request.length == 0) {
    if (!enter(0)) return peerNotConnected(qp);
    if (immediate) publish(request, kSuccess);
    leave();
    return Step::kDone;
  }
  uint64_t contiguous;
  const uint8_t* from = localAt(request, done_, contiguous);
  uint64_t length = std::min<uint64_t>(contiguous, kQuantumBytes);
  if (request.torn) length = std::min(length, request.placed - done_);
  // The whole range is checked before the first byte is written.
  const Step resolved = resolve(request.rkey, request.remote + done_, length, request.length - done_, kRemoteWrite);
  if (resolved != Step::kCopied) return resolved;
  if (!enter(window_.regionIndex)) return peerNotConnected(qp);
  if (!stillValid(request.rkey)) {
    leave();
    return Step::kRetry;  // the next attempt resolves it again, and fails with the reason
  }
  copyOrdered(window_.memory, from, length);
  if (!landed(request.rkey)) {
    leave();
    return Step::kRetry;
  }
  done_ += length;
  const bool last = done_ == request.length;
  if (last && immediate) publish(request, kSuccess);
  leave();
  return last ? Step::kDone : Step::kCopied;
}

ShmWire::Step ShmWire::stepRead(QueuePair& qp, WorkRequest& request) {
  if (request.length == 0) {
    if (!enter(0)) return peerNotConnected(qp);
    leave();
    return Step::kDone;
  }
  uint64_t contiguous;
  uint8_t* to = localAt(request, done_, contiguous);
  const uint64_t length = std::min<uint64_t>(contiguous, kQuantumBytes);
  const Step resolved = resolve(request.rkey, request.remote + done_, length, request.length - done_, kRemoteRead);
  if (resolved != Step::kCopied) return resolved;
  if (!enter(window_.regionIndex)) return peerNotConnected(qp);
  if (!stillValid(request.rkey)) {
    leave();
    return Step::kRetry;
  }
  copyAnyOrder(to, window_.memory, length);
  const bool current = landed(request.rkey);
  leave();
  if (!current) return Step::kRetry;
  done_ += length;
  return done_ == request.length ? Step::kDone : Step::kCopied;
}

ShmWire::Step ShmWire::stepAtomic(QueuePair& qp, WorkRequest& request) {
  if (request.remote & 7) return fail(kRemoteInvalidRequest, true);
  const Step resolved = resolve(request.rkey, request.remote, 8, 8, kRemoteAtomic);
  if (resolved != Step::kCopied) return resolved;
  if (!enter(window_.regionIndex)) return peerNotConnected(qp);
  if (!stillValid(request.rkey)) {
    leave();
    return Step::kRetry;
  }
  auto* word = reinterpret_cast<uint64_t*>(window_.memory);
  if (reinterpret_cast<uintptr_t>(word) & 7) {  // a region that does not lie where its addresses say
    leave();
    return fail(kRemoteOperationError, true);
  }
  uint64_t before = request.compare;
  if (request.opcode == kFetchAndAdd) {
    before = __atomic_fetch_add(word, request.compare, __ATOMIC_SEQ_CST);
  } else {
    __atomic_compare_exchange_n(word, &before, request.swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  const bool current = landed(request.rkey);
  leave();
  // It cannot be repeated: it may have taken effect.
  if (!current) return fail(kRemoteOperationError, true);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&before);
  for (uint64_t at = 0, contiguous; at < 8; at += contiguous) {
    uint8_t* to = localAt(request, at, contiguous);
    contiguous = std::min<uint64_t>(contiguous, 8 - at);
    std::memcpy(to, bytes + at, contiguous);
  }
  done_ = 8;
  return Step::kDone;
}

ShmWire::Step ShmWire::stepSend(QueuePair& qp, WorkRequest& request) {
  const ReceiveSlot& shared = theirSlots_[produced_ % theirRing_];
  const uint32_t entries = std::min(readOnce(shared.sgeCount), kMaxSge);
  Sge sges[kMaxSge];
  uint64_t room = 0;
  for (uint32_t i = 0; i < entries; ++i) {
    sges[i] = readOnce(shared.sge[i]);
    room += sges[i].length;
  }
  if (request.length > room) {
    if (!enter(0)) return peerNotConnected(qp);
    publish(request, kLocalLengthError);
    leave();
    return fail(kRemoteInvalidRequest, false);
  }
  uint64_t contiguous = 0;
  const uint8_t* from = request.length == 0 ? nullptr : localAt(request, done_, contiguous);
  uint64_t length = std::min<uint64_t>(contiguous, kQuantumBytes);
  // Where in the receiver's scatter list the next byte goes.
  uint64_t skip = done_;
  uint32_t entry = 0;
  while (entry + 1 < entries && skip >= sges[entry].length) skip -= sges[entry++].length;
  window_ = {nullptr, 0, 0};
  if (length > 0) {
    const Sge& to = sges[entry];
    length = std::min<uint64_t>(length, to.length - skip);
    const Step resolved = resolve(to.lkey, to.address() + skip, length, length, kLocalWrite);
    // A key that is not valid any more is the receiver's error; a peer that is gone is not.
    if (resolved == Step::kFailed && failure_ == kRemoteAccessError) return fail(kRemoteOperationError, true);
    if (resolved != Step::kCopied) return resolved;
  }
  if (!enter(window_.regionIndex)) return peerNotConnected(qp);
  if (length > 0 && !stillValid(sges[entry].lkey)) {
    leave();
    return Step::kRetry;
  }
  if (length > 0) {
    copyAnyOrder(window_.memory, from, length);
    if (!landed(sges[entry].lkey)) {
      leave();
      return Step::kRetry;
    }
  }
  done_ += length;
  const bool last = done_ == request.length;
  if (last) publish(request, kSuccess);
  leave();
  return last ? Step::kDone : Step::kCopied;
}

void ShmWire::publish(const WorkRequest& request, Status status) {
  InboundCompletion& completion = theirInbound_[produced_ % theirRing_];
  completion.status = status;
  completion.opcode = request.opcode == kWriteWithImm ? kCompletedReceiveWriteWithImm : kCompletedReceive;
#if !RDMC_PLANT_RACE
  completion.bytes = uint32_t(request.length);
#endif
  completion.immediate = request.immediate;
  completion.flags = carriesImmediate(request.opcode) ? uint32_t(kWithImmediate) : 0;
  theirs_.produced.store(++produced_, std::memory_order_release);
  SharedCq& cq = link_->control().cq(theirCq_);
  cq.ready[theirIndex_ / 64].fetch_or(1ull << (theirIndex_ % 64), std::memory_order_seq_cst);
#if RDMC_PLANT_RACE  // by a test, which asserts that the thread sanitizer reports it
  completion.bytes = uint32_t(request.length);
#endif
  link_->signal(theirCq_, (request.flags & kSolicited) || status != kSuccess);
  const uint64_t wakeAt = theirs_.wakeAt.load(std::memory_order_seq_cst);
  if (wakeAt != 0) [[unlikely]]
    wakeOwner(wakeAt, status);
}

// Requests of the target wait for this receive: its service thread continues them, and its worker may sleep.
void ShmWire::wakeOwner(uint64_t wakeAt, Status status) {
  if (wakeAt == wokenAt_ || (status == kSuccess && !wakesAt(wakeAt, produced_))) return;
  wokenAt_ = wakeAt;
  link_->poke();
}

ShmWire::Step ShmWire::step(QueuePair& qp, WorkRequest& request) {
  if (request.torn && done_ == request.placed) {
    qp.device().tear().strike();
    return fail(kGeneralError, false);
  }
  // In front of every check that can fail with `tellPeer`: a queue pair that is connected to another must not learn of
  // our errors, and one that is not connected yet would break before it is.
  if (!connected()) return peerNotConnected(qp);
  if (takesReceive(request.opcode)) {
    if (theirs_.receivesPosted.load(std::memory_order_acquire) == produced_) return receiverNotReady(qp);
    if (rnrWaiting_) {
      rnrWaiting_ = false;
      theirs_.rnrWaiting.store(0, std::memory_order_relaxed);
    }
  }
  switch (request.opcode) {
    case kWrite:
    case kWriteWithImm:
      return stepWrite(qp, request);
    case kRead:
      return stepRead(qp, request);
    case kCompareAndSwap:
    case kFetchAndAdd:
      return stepAtomic(qp, request);
    default:
      return stepSend(qp, request);
  }
}

}  // namespace rdmc
