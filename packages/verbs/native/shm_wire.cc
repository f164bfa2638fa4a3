#include "shm_wire.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "copy.h"
#include "failure.h"
#include "scatter_gather.h"
#include "soft_device.h"

namespace rdmc {
namespace {

constexpr int kRetriesAtOnce = 100;

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

int64_t steadyNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

ShmWire::ShmWire(std::shared_ptr<PeerLink> link, uint32_t peerNumber, uint64_t ownToken, uint32_t peerDepth)
    : link_(std::move(link)),
      peerNumber_(peerNumber),
      ownToken_(ownToken),
      theirs_(link_->control().qp(peerNumber & (kMaxQps - 1))),
      theirSlots_(link_->control().receiveSlots(peerNumber & (kMaxQps - 1))),
      theirInbound_(link_->control().inbound(peerNumber & (kMaxQps - 1))),
      theirIndex_(peerNumber & (kMaxQps - 1)),
      theirDepth_(peerDepth),
      theirCq_(readOnce(theirs_.receiveCq) & (kMaxCqs - 1)),
      theirDomain_(readOnce(theirs_.protectionDomain)) {}

bool ShmWire::enter(uint32_t regionIndex) {
  if (!connected()) return false;  // the page may be somebody else's by now
  theirs_.busyRegion.store(regionIndex, std::memory_order_release);
  // A full barrier: the target's state is read after everybody can see that we are busy.
  theirs_.busy.exchange(++busyCount_, std::memory_order_seq_cst);
  if (connected()) return true;
  leave();
  return false;
}

void ShmWire::leave() { theirs_.busy.store(++busyCount_, std::memory_order_release); }

bool ShmWire::connected() const {
  return theirs_.state.load(std::memory_order_seq_cst) == kRts &&
         theirs_.number.load(std::memory_order_relaxed) == peerNumber_ &&
         theirs_.peerToken.load(std::memory_order_relaxed) == ownToken_;
}

ShmWire::Step ShmWire::fail(Status status, bool tellPeer) {
  failure_ = status;
  tellPeer_ = tellPeer;
  return Step::kFailed;
}

bool ShmWire::expired(int64_t allowedMs) {
  const int64_t now = steadyNs();
  if (waitingSinceNs_ == 0) waitingSinceNs_ = now;
  deadlineNs_ = waitingSinceNs_ + allowedMs * 1'000'000;
  return now >= deadlineNs_;
}

// Counted apart from other waits: a receiver that is not ready has answered, and has limits of its own.
bool ShmWire::retriedTooLong(const QueuePair& qp) {
  const int64_t now = steadyNs();
  if (retryingSinceNs_ == 0) retryingSinceNs_ = now;
  return now - retryingSinceNs_ >= int64_t(qp.parameters().retryTimeoutMs) * 1'000'000;
}

ShmWire::Step ShmWire::peerNotConnected(QueuePair& qp) {
  const uint32_t number = theirs_.number.load(std::memory_order_seq_cst);
  const uint32_t state = theirs_.state.load(std::memory_order_seq_cst);
  const bool waiting = number == peerNumber_ && state == kInit;
  if (!waiting && connected() && link_->alive()) return Step::kRetry;  // it has connected since we looked
  if (!waiting || !link_->alive()) return fail(kRetryExceeded, false);
  if (expired(qp.parameters().retryTimeoutMs)) return fail(kRetryExceeded, false);
  return Step::kBlocked;
}

ShmWire::Step ShmWire::receiverNotReady(QueuePair& qp) {
  rnrWaiting_ = true;
  theirs_.rnrWaiting.store(1, std::memory_order_seq_cst);
  if (theirs_.receivesPosted.load(std::memory_order_seq_cst) != produced_) return Step::kRetry;
  const ConnectParameters& limits = qp.parameters();
  if (limits.rnrRetries < 7 && expired(int64_t(limits.rnrRetries) * limits.rnrTimerMs)) {
    return fail(kRnrRetryExceeded, false);
  }
  if (!link_->alive()) return fail(kRetryExceeded, false);
  return Step::kBlocked;
}

bool ShmWire::RegionFacts::permits(uint64_t from, uint64_t bytes, uint32_t rights, uint32_t pd) const {
  return (access & rights) == rights && protectionDomain == pd && from >= address && bytes <= length &&
         from - address <= length - bytes;
}

bool ShmWire::lookUp(uint32_t key, RegionFacts& facts) const {
  const SharedRegion& region = link_->control().region(key & (kMaxRegions - 1));
  if (key == 0 || region.key.load(std::memory_order_acquire) != key) return false;
  facts = {readOnce(region.access), readOnce(region.protectionDomain), readOnce(region.arena),
           readOnce(region.address), readOnce(region.length)};
  return true;
}

ShmWire::Step ShmWire::resolve(QueuePair& qp, uint32_t key, uint64_t address, uint64_t length, uint64_t remaining,
                               uint32_t access, Window& window) {
  const uint32_t index = key & (kMaxRegions - 1);
  const SharedRegion& region = link_->control().region(index);
  RegionFacts facts;
  if (!lookUp(key, facts) || !facts.permits(address, remaining, access, theirDomain_)) {
    return fail(kRemoteAccessError, true);
  }
  const uint32_t arenaId = facts.arena;
  const uint64_t offset = address - facts.address;
  // The offset belongs to the arena: it is read after the arena, and after the look whether both are being changed.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (region.moving.load(std::memory_order_acquire)) return Step::kRetry;
  const uint64_t arenaOffset = readOnce(region.arenaOffset);
  if (!arena_ || arena_->id != arenaId || arenaEpoch_ != link_->arenaEpoch()) {
    arenaEpoch_ = link_->arenaEpoch();
    arena_ = link_->arena(arenaId);
    if (!arena_) {
      link_->requestArena(arenaId);
      // The peer's service thread hands it out: one that is stopped does not.
      const bool overdue = expired(qp.parameters().retryTimeoutMs);
      return link_->alive() && !overdue ? Step::kBlocked : fail(kRetryExceeded, false);
    }
  }
  // The peer says where in its file the region lies; the file ends where it ends.
  const uint64_t size = arena_->memory.length();
  if (arenaOffset > size || offset > size - arenaOffset || length > size - arenaOffset - offset) {
    return fail(kRemoteOperationError, true);
  }
  const uint64_t at = arenaOffset + offset;
  try {
    if (length > 0) arena_->prepare(at, length);
  } catch (const Failure&) {
    return fail(kLocalQpOperationError, false);  // the pages cannot be had here
  }
  window = {arena_->memory.data() + at, index};
  return Step::kCopied;
}

bool ShmWire::stillValid(uint32_t key, const Window& window) const {
  const SharedRegion& region = link_->control().region(window.regionIndex);
  return region.key.load(std::memory_order_seq_cst) == key && region.moving.load(std::memory_order_seq_cst) == 0 &&
         readOnce(region.arena) == arena_->id;
}

bool ShmWire::landed(uint32_t key, const Window& window) const {
  // Our bytes first, then the question whether the memory was moved or taken away meanwhile: an initiator that
  // is stopped in the middle of a copy goes on in abandoned memory, and must not report success.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return stillValid(key, window) && connected();
}

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
  Window window;
  // The whole range is checked before the first byte is written.
  const Step resolved =
      resolve(qp, request.rkey, request.remote + done_, length, request.length - done_, kRemoteWrite, window);
  if (resolved != Step::kCopied) return resolved;
  if (!enter(window.regionIndex)) return peerNotConnected(qp);
  if (!stillValid(request.rkey, window)) {
    leave();
    return Step::kRetry;  // resolved again, which says why
  }
  copyOrdered(window.memory, from, length);
  if (!landed(request.rkey, window)) {
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
  Window window;
  const Step resolved =
      resolve(qp, request.rkey, request.remote + done_, length, request.length - done_, kRemoteRead, window);
  if (resolved != Step::kCopied) return resolved;
  if (!enter(window.regionIndex)) return peerNotConnected(qp);
  if (!stillValid(request.rkey, window)) {
    leave();
    return Step::kRetry;
  }
  copyAnyOrder(to, window.memory, length);
  const bool current = landed(request.rkey, window);
  leave();
  if (!current) return Step::kRetry;
  done_ += length;
  return done_ == request.length ? Step::kDone : Step::kCopied;
}

ShmWire::Step ShmWire::stepAtomic(QueuePair& qp, WorkRequest& request) {
  if (request.remote & 7) return fail(kRemoteInvalidRequest, true);
  Window window;
  const Step resolved = resolve(qp, request.rkey, request.remote, 8, 8, kRemoteAtomic, window);
  if (resolved != Step::kCopied) return resolved;
  if (!enter(window.regionIndex)) return peerNotConnected(qp);
  if (!stillValid(request.rkey, window)) {
    leave();
    return Step::kRetry;
  }
  auto* word = reinterpret_cast<uint64_t*>(window.memory);
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
  const bool current = landed(request.rkey, window);
  leave();
  // It cannot be repeated: nobody knows whether it was seen.
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
  if (!connected()) return peerNotConnected(qp);
  const ReceiveSlot& shared = theirSlots_[produced_ % theirDepth_];
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
  Window window{nullptr, 0};
  if (length > 0) {
    const Sge& to = sges[entry];
    length = std::min<uint64_t>(length, to.length - skip);
    const Step resolved = resolve(qp, to.lkey, to.address() + skip, length, length, kLocalWrite, window);
    // A key that its owner gave up is the receiver's mistake; a peer that is gone is nobody's.
    if (resolved == Step::kFailed && failure_ == kRemoteAccessError) return fail(kRemoteOperationError, true);
    if (resolved != Step::kCopied) return resolved;
  }
  if (!enter(window.regionIndex)) return peerNotConnected(qp);
  if (length > 0 && !stillValid(sges[entry].lkey, window)) {
    leave();
    return Step::kRetry;
  }
  if (length > 0) {
    copyAnyOrder(window.memory, from, length);
    if (!landed(sges[entry].lkey, window)) {
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
  InboundCompletion& completion = theirInbound_[produced_ % theirDepth_];
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
}

ShmWire::Step ShmWire::step(QueuePair& qp, WorkRequest& request) {
  if (request.torn && done_ == request.placed) {
    qp.device().tear().strike();
    return fail(kGeneralError, false);
  }
  const bool takesReceive = request.opcode <= kSendWithImm || request.opcode == kWriteWithImm;
  if (takesReceive) {
    if (!connected()) return peerNotConnected(qp);
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

Progress ShmWire::progress(QueuePair& qp, int64_t& budgetBytes) {
  if (detached_) return Progress::kIdle;
  int retries = 0;
  while (WorkRequest* request = qp.head()) {
    const uint64_t before = done_;
    Step result = step(qp, *request);
    if (result == Step::kBlocked) {
      if (rnrWaiting_) retryingSinceNs_ = 0;
      return Progress::kBlocked;
    }
    if (result == Step::kRetry) {
      if (++retries <= kRetriesAtOnce) continue;
      // Over TCP, a peer that answers nothing ends the connection after the same time.
      if (!retriedTooLong(qp)) return Progress::kRetry;
      result = fail(kRetryExceeded, false);
    }
    waitingSinceNs_ = deadlineNs_ = retryingSinceNs_ = 0;
    if (result == Step::kFailed) {
      if (tellPeer_) {
        LinkMessage message{};
        message.type = kPeerError;
        message.a = peerNumber_;
        link_->send(message);
        qp.device().service().poke();  // sends it where the socket has no room now
      }
      done_ = 0;
      qp.failLocked(failure_);
      return Progress::kIdle;
    }
    retries = 0;
    budgetBytes -= int64_t(done_ - before) + 64;
    qp.device().countCopied(done_ - before);
    if (result == Step::kDone) {
      const uint64_t bytes = done_;
      done_ = 0;
      // A dead process's memory still takes writes: look before reporting success.
      if (!link_->control().alive()) {
        qp.failLocked(kRetryExceeded);
        return Progress::kIdle;
      }
      qp.completeHead(kSuccess, bytes);
    }
    if (budgetBytes <= 0 && qp.head()) return Progress::kBudget;
  }
  return Progress::kIdle;
}

void ShmWire::receivePosted(QueuePair& qp) {
  // rnrWaiting is the peer's word: it takes it back when it has found a receive.
  if (qp.shared().rnrWaiting.load(std::memory_order_seq_cst)) link_->poke();
}

bool ShmWire::quiesce(QueuePair& qp) { return qp.device().waitForPeer(qp, link_->control()); }

void ShmWire::detach(QueuePair&) {
  detached_ = true;
  arena_.reset();
}

}  // namespace rdmc
