#include "soft/queue_pair.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>

#include "core/scatter_gather.h"
#include "soft/device.h"

namespace rdmc {

namespace {
bool names(std::span<Region* const> regions, const Region& region) {
  return std::ranges::find(regions, &region) != regions.end();
}
}  // namespace

QueuePair::QueuePair(SoftDevice& device, uint32_t number, const QueuePairParameters& parameters,
                     std::shared_ptr<SoftCompletionQueue> sendCq, std::shared_ptr<SoftCompletionQueue> receiveCq)
    : device_(device),
      number_(number),
      pd_(parameters.pd),
      receiveDepth_(parameters.receiveDepth),
      mine_(device.control().qp(number & (kMaxQps - 1))),
      receiveSlots_(device.control().receiveSlots(number & (kMaxQps - 1), receiveRing(receiveDepth_))),
      inbound_(device.control().inbound(number & (kMaxQps - 1), receiveRing(receiveDepth_))),
      sendCq_(std::move(sendCq)),
      receiveCq_(std::move(receiveCq)),
      signalAll_(parameters.signalAll),
      ring_(parameters.sendDepth),
      receives_(receiveRing(receiveDepth_)) {
  mine_.state.store(kInit);
  mine_.protectionDomain = pd_;
  mine_.receiveRing = receiveRing(receiveDepth_);
  mine_.receiveCq = receiveCq_->index();
  mine_.peerToken.store(0);
  mine_.receivesPosted.store(0);
  mine_.wakeAt.store(0);
  mine_.busy.store(0);
  mine_.busyRegion.store(0);
  mine_.produced.store(0);
  mine_.rnrWaiting.store(0);
  mine_.number.store(number, std::memory_order_seq_cst);
}

void QueuePair::leaveQueues() {
  --sendCq_->users;
  --receiveCq_->users;
}

uint32_t QueuePair::loadSges(const WorkRequestSlot& slot, WorkRequest& request) {
  RegionUses uses(device_.regions());
  const uint32_t result = acquireRegions(uses, slot, pd_, request.regions, request.length);
  if (result != kAccepted) return result;
  for (uint32_t i = 0; i < slot.sgeCount; ++i) {
    const Sge& sge = slot.sge[i];
    const auto memory = reinterpret_cast<uint64_t>(request.regions[i]->deviceMemory(sge.address()));
    request.sge[i] = {memory, sge.length, sge.lkey};
  }
  request.sgeCount = slot.sgeCount;
  return kAccepted;
}

void QueuePair::releaseRegions(WorkRequest& request) {
  if (request.flags & kInline) return;
  dropRegions(request.regions, request.sgeCount);
  request.sgeCount = 0;
}

uint32_t QueuePair::enqueue(const WorkRequestSlot& slot) {
  // In the error state it is flushed, whatever it waits for.
  if ((slot.flags & kWaitFor) && state() != kError) [[unlikely]]
    return appendWaiting(slot);
  return append(slot);
}

uint32_t QueuePair::append(const WorkRequestSlot& slot) {
  if (slot.opcode > kFetchAndAdd) return kUnknownOpcode;
  const QpState current = state();
  if (current != kRts && current != kError) return kWrongState;
  if (size_ == ring_.depth()) return kQueueFull;
  WorkRequest* const place = ring_.open((head_ + size_) % ring_.depth());
  // As ibv_post_send does: ENOMEM stands for both.
  if (!place) return kQueueFull;
  WorkRequest& request = *place;
  request.flags = slot.flags;
  request.opcode = slot.opcode;
  if (slot.flags & kInline) {
    if (slot.sgeCount > kMaxInlineBytes) return kInlineTooLong;
    if (slot.opcode == kRead || isAtomic(slot.opcode)) return kUnknownOpcode;
    request.length = slot.sgeCount;
    request.sgeCount = 0;
    std::memcpy(request.inlineBytes, slot.inlineBytes, slot.sgeCount);
  } else {
    const uint32_t result = loadSges(slot, request);
    if (result != kAccepted) return result;
  }
  request.id = slot.idLow | uint64_t(slot.idHigh) << 32;
  request.immediate = slot.immediate;
  request.rkey = slot.rkey;
  request.remote = slot.remoteLow | uint64_t(slot.remoteHigh) << 32;
  request.compare = slot.compareLow | uint64_t(slot.compareHigh) << 32;
  request.swap = slot.swapLow | uint64_t(slot.swapHigh) << 32;
  request.torn = device_.tear().armed() && device_.tear().tears(request.opcode, request.length, request.placed);
  ++size_;
  deliveries_ += takesReceive(request.opcode);
  if (current == kError) {
    forgetWaits();
    while (size_ > 0) completeHead(kFlushed, 0);
  }
  return kAccepted;
}

void QueuePair::completeHead(Status status, uint64_t bytes) {
  WorkRequest& request = ring_[head_];
  releaseRegions(request);
  CompletionSlot completion{};
  completion.idLow = uint32_t(request.id);
  completion.idHigh = uint32_t(request.id >> 32);
  completion.status = status;
  completion.opcode = completionOpcode(request.opcode);
  completion.bytes = uint32_t(bytes);
  completion.queuePair = number_;
  const bool wanted = signalAll_ || (request.flags & kSignaled) || status != kSuccess;
  --size_;
  head_ = size_ == 0 ? 0 : (head_ + 1) % ring_.depth();
  if (wanted) sendCq_->push(completion);
}

Progress QueuePair::progress(int64_t& budgetBytes) {
  if (size_ == 0 || state() != kRts || !wire_) return Progress::kIdle;
  return wire_->progress(*this, budgetBytes);
}

// A TCP-only device receives into any memory, because its own thread places the bytes.
bool QueuePair::mayReceiveInto(const Region& region) const { return region.shareable || !device_.sharedMemory(); }

uint32_t QueuePair::postReceive(const WorkRequestSlot& slot) {
  std::lock_guard guard(receiveLock_);
  if (receivesPosted_ - receivesConsumed_ >= receiveDepth_) return kQueueFull;
  WorkRequest request;
  request.flags = 0;
  if (slot.flags & (kInline | kWaitFor)) return kUnknownOpcode;
  const uint32_t result = loadSges(slot, request);
  if (result != kAccepted) return result;
  for (uint32_t i = 0; i < request.sgeCount; ++i) {
    if (mayReceiveInto(*request.regions[i])) continue;
    releaseRegions(request);
    return kNotShareable;
  }
  const uint32_t at = receivesPosted_ % uint32_t(receives_.size());
  ReceiveSlot& shared = receiveSlots_[at];
  shared.sgeCount = request.sgeCount;
  ReceiveRecord& record = receives_[at];
  record.id = slot.idLow | uint64_t(slot.idHigh) << 32;
  record.length = request.length;
  record.regionCount = request.sgeCount;
  for (uint32_t i = 0; i < request.sgeCount; ++i) {
    shared.sge[i] = slot.sge[i];
    record.regions[i] = request.regions[i];
  }
  ++receivesPosted_;
  mine_.receivesPosted.store(receivesPosted_, std::memory_order_seq_cst);
  if (receivesFlushed_) {
    flushReceives();
  } else if (wire_) {
    wire_->receivePosted(*this);
  }
  return kAccepted;
}

const ReceiveSlot* QueuePair::nextReceive() const {
  const uint32_t taken = mine_.produced.load(std::memory_order_relaxed);
  if (taken == mine_.receivesPosted.load(std::memory_order_acquire)) return nullptr;
  return &receiveSlots_[taken % receives_.size()];
}

void QueuePair::produceInbound(const InboundCompletion& completion, bool solicited) {
  const uint32_t produced = mine_.produced.load(std::memory_order_relaxed);
  inbound_[produced % receives_.size()] = completion;
  mine_.produced.store(produced + 1, std::memory_order_release);
  receiveCq_->shared().ready[index() / 64].fetch_or(1ull << (index() % 64), std::memory_order_seq_cst);
  receiveCq_->notify(solicited || completion.status != kSuccess);
}

void QueuePair::dropReceive(uint32_t at) {
  ReceiveRecord& record = receives_[at];
  for (uint32_t i = 0; i < record.regionCount; ++i) RegionTable::drop(record.regions[i]);
  record.regionCount = 0;
}

bool plausible(const InboundCompletion& inbound, uint64_t room) {
  if (inbound.opcode == kCompletedReceiveWriteWithImm) return inbound.bytes <= kMaxMessageBytes;
  return inbound.opcode == kCompletedReceive && (inbound.status != kSuccess || inbound.bytes <= room);
}

CompletionSlot QueuePair::receiveCompletion(uint32_t at, const InboundCompletion& published) {
  InboundCompletion inbound = readOnce(published);
  if (!plausible(inbound, receives_[at].length)) {
    inbound = {};
    inbound.status = kGeneralError;
    inbound.opcode = kCompletedReceive;
  }
  CompletionSlot out{};
  out.idLow = uint32_t(receives_[at].id);
  out.idHigh = uint32_t(receives_[at].id >> 32);
  out.status = inbound.status;
  out.opcode = inbound.opcode;
  out.bytes = inbound.bytes;
  out.immediate = inbound.immediate;
  out.queuePair = number_;
  out.flags = inbound.flags & kWithImmediate;
  dropReceive(at);
  return out;
}

uint32_t QueuePair::mergeInbound(CompletionSlot* out, uint32_t max) {
  uint32_t count = 0, succeeded = 0;
  bool failed = false;
  {
    std::lock_guard guard(receiveLock_);
    if (receivesFlushed_) return 0;
    // The peer's counter is not trusted beyond what was posted.
    const uint32_t ready = mine_.produced.load(std::memory_order_acquire) - receivesConsumed_;
    const uint32_t posted = receivesPosted_ - receivesConsumed_;
    const uint32_t available = ready < posted ? ready : posted;
    while (count < max && count < available) {
      const uint32_t at = receivesConsumed_ % uint32_t(receives_.size());
      out[count] = receiveCompletion(at, inbound_[at]);
      failed |= out[count].status != kSuccess;
      succeeded += !failed;
      ++receivesConsumed_;
      ++count;
    }
    count_.reach(receivesConsumed_ - count + succeeded);
    if (failed) count_.end();
    if (count < available) {
      receiveCq_->shared().ready[index() / 64].fetch_or(1ull << (index() % 64), std::memory_order_seq_cst);
    }
  }
  if (failed) fail(kFlushed);
  return count;
}

void QueuePair::flushReceives(Status status) {
  // With receiveLock held, after quiesce: receives that the peer completed keep their result, the others are flushed.
  const uint32_t ring = uint32_t(receives_.size());
  countReceives();
  uint32_t published = mine_.produced.load(std::memory_order_acquire) - receivesConsumed_;
  if (published > receivesPosted_ - receivesConsumed_) published = 0;
  if (receivesFlushed_) published = 0;
  for (; published > 0; --published, ++receivesConsumed_) {
    const uint32_t at = receivesConsumed_ % ring;
    receiveCq_->push(receiveCompletion(at, inbound_[at]));
  }
  InboundCompletion flushed{};
  flushed.status = status;
  flushed.opcode = kCompletedReceive;
  for (; receivesConsumed_ != receivesPosted_; ++receivesConsumed_) {
    receiveCq_->push(receiveCompletion(receivesConsumed_ % ring, flushed));
  }
  receivesFlushed_ = true;
}

bool QueuePair::failLocked(Status status) {
  failed_ = true;
  if (state() != kError) mine_.state.store(kError, std::memory_order_seq_cst);
  // Before a completion is published: a thread that sees the completion may reuse the memory.
  const bool quiet = !wire_ || wire_->quiesce(*this);
  forgetWaits();
  // A request that waited was not begun: it did not fail.
  if (size_ > 0) completeHead(head()->flags & kWaitFor ? kFlushed : status, 0);
  while (size_ > 0) completeHead(kFlushed, 0);
  {
    std::lock_guard guard(receiveLock_);
    if (!receivesFlushed_) flushReceives(quiet ? kFlushed : kFatal);
  }
  resumeWaiters();
  return quiet;
}

void QueuePair::fail(Status status) {
  std::lock_guard guard(sendLock);
  failLocked(status);
}

bool QueuePair::sendsUse(const Region& region) {
  for (uint32_t i = 0; i < size_; ++i) {
    const WorkRequest& request = ring_[(head_ + i) % ring_.depth()];
    if (names(std::span(request.regions, request.sgeCount), region)) return true;
  }
  return false;
}

bool QueuePair::receivesUse(const Region& region) {
  std::lock_guard guard(receiveLock_);
  // What the peer has completed waits to be polled only, and touches no memory.
  const uint32_t posted = receivesPosted_ - receivesConsumed_;
  const uint32_t done = mine_.produced.load(std::memory_order_acquire) - receivesConsumed_;
  for (uint32_t i = receivesFlushed_ || done > posted ? 0 : done; i < posted; ++i) {
    const ReceiveRecord& record = receives_[(receivesConsumed_ + i) % receives_.size()];
    if (names(std::span(record.regions, record.regionCount), region)) return true;
  }
  return false;
}

void QueuePair::failIfUsing(const Region& region) {
  std::lock_guard guard(sendLock);
  if (sendsUse(region) || receivesUse(region)) failLocked(kFlushed);
}

std::shared_ptr<Wire> QueuePair::wireNow() {
  std::lock_guard guard(sendLock);
  return wire_;
}

ConnectParameters QueuePair::parametersNow() {
  std::lock_guard guard(sendLock);
  return parameters_;
}

void QueuePair::attach(std::shared_ptr<Wire> wire, uint64_t peerToken, const ConnectParameters& parameters) {
  std::lock_guard guard(sendLock);
  // The page of a destroyed queue pair may belong to another one already: its state must not be used.
  if (failed_ || state() != kInit) return;
  std::lock_guard receives(receiveLock_);  // posting a receive looks at the wire
  wire_ = std::move(wire);
  parameters_ = parameters;
  // The state is stored last: a peer that sees it also sees that the page is its own.
  mine_.peerToken.store(peerToken, std::memory_order_seq_cst);
  mine_.state.store(kRts, std::memory_order_seq_cst);
}

}  // namespace rdmc
