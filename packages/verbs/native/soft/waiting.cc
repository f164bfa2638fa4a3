// The receive side of waiting: which queue pairs wait for receives of this one, and how they learn of them. The send
// side is soft/waits.h.
//
// No receive is missed: a waiter is announced (`wakeAt`) before the receives are counted once more, and who completes a
// receive publishes it before it looks for the announcement. Between the two stands the bitmap of ready queue pairs,
// which the one changes in between and the other reads in between: an initiator that did not see the announcement
// changed the bitmap before it, so that the owner, reading the bitmap after it, also sees the receive.
#include <algorithm>
#include <mutex>

#include "soft/device.h"

namespace rdmc {
namespace {

// `wakeAt` is compared modulo 2^32: it is never further away than this.
constexpr uint64_t kFurthestWake = 1u << 30;

}  // namespace

void QueuePair::countReceives() {
  if (receivesFlushed_) return;
  const uint32_t ready = mine_.produced.load(std::memory_order_acquire) - receivesConsumed_;
  const uint32_t available = std::min(ready, receivesPosted_ - receivesConsumed_);
  for (uint32_t i = count_.since(receivesConsumed_); i < available && !count_.over(); ++i) {
    const uint32_t at = (receivesConsumed_ + i) % uint32_t(receives_.size());
    const InboundCompletion inbound = readOnce(inbound_[at]);
    if (inbound.status == kSuccess && plausible(inbound, receives_[at].length)) {
      count_.add();
    } else {
      count_.end();
    }
  }
}

QueuePair::Awaited QueuePair::awaitedNow(uint64_t receives) {
  countReceives();
  if (receives <= count_.succeeded()) return Awaited::kCame;
  return receivesFlushed_ || count_.over() ? Awaited::kNever : Awaited::kNotYet;
}

QueuePair::Awaited QueuePair::awaited(uint64_t receives) {
  std::lock_guard guard(receiveLock_);
  return awaitedNow(receives);
}

// Tells whoever completes receives of this queue pair which one is waited for, and looks once more.
void QueuePair::announceWaiters() {
  uint64_t next = waiters_.empty() ? 0 : count_.succeeded() + kFurthestWake;
  for (const Waiter& each : waiters_) next = std::min(next, each.receives);
  wakeAt_.store(next, std::memory_order_seq_cst);
  mine_.wakeAt.store(next, std::memory_order_seq_cst);
  receiveCq_->shared().ready[index() / 64].load(std::memory_order_seq_cst);
  countReceives();
}

QueuePair::Awaited QueuePair::await(uint64_t receives, QueuePair& waiter) {
  std::lock_guard guard(receiveLock_);
  if (const Awaited now = awaitedNow(receives); now != Awaited::kNotYet) return now;
  std::erase_if(waiters_,
                [&](const Waiter& each) { return each.number == waiter.number() || each.queuePair.expired(); });
  waiters_.push_back({waiter.number(), receives, waiter.weak_from_this()});
  announceWaiters();
  return awaitedNow(receives);
}

bool QueuePair::hasWaiters() {
  std::lock_guard guard(receiveLock_);
  return !waiters_.empty();
}

void QueuePair::resumeWaiters() {
  std::vector<std::shared_ptr<QueuePair>> ready;
  {
    std::lock_guard guard(receiveLock_);
    const auto over = [this](const Waiter& each) { return awaitedNow(each.receives) != Awaited::kNotYet; };
    // More may come while those that stay are announced.
    for (bool more = !waiters_.empty(); more; more = std::any_of(waiters_.begin(), waiters_.end(), over)) {
      std::erase_if(waiters_, [&](const Waiter& each) {
        if (!over(each)) return false;
        if (auto waiter = each.queuePair.lock()) ready.push_back(std::move(waiter));
        return true;
      });
      if (!receivesFlushed_) announceWaiters();  // else the page may belong to another queue pair soon
    }
  }
  for (const auto& waiter : ready) waiter->wire()->resume(*waiter);
}

void QueuePair::received() {
  if (wakesAt(wakeAt_.load(std::memory_order_seq_cst), mine_.produced.load(std::memory_order_relaxed))) {
    resumeWaiters();
  }
}

uint32_t QueuePair::feeder() {
  std::lock_guard guard(receiveLock_);
  return wire_ ? wire_->localPeer() : 0;
}

// ---- requests of this queue pair that wait

uint32_t QueuePair::appendWaiting(const WorkRequestSlot& slot) {
  if ((slot.flags & kInline) && slot.sgeCount > kMaxInlineBytesOfWaiting) return kInlineTooLong;
  if (const uint32_t result = device_.waits().admit(*this, slot); result != kAccepted) return result;
  ++waiting_;
  const uint32_t result = append(slot);
  if (result == kAccepted || waiting_ == 0) return result;
  --waiting_;
  device_.waits().withdraw(*this);
  return result;
}

bool QueuePair::released(WorkRequest& request) {
  switch (device_.waits().stateOf(*this)) {
    case Waits::State::kOver:
      request.flags &= ~uint32_t(kWaitFor);
      --waiting_;
      device_.waits().release(*this);
      device_.counters.released.fetch_add(1, std::memory_order_relaxed);
      return true;
    case Waits::State::kHopeless:
      // In order: those before it may still succeed.
      if (&request == head()) {
        // In front of the state: whoever sees that it failed also sees why.
        if (!failed_) brokenByWait_.store(true, std::memory_order_release);
        failLocked(kFlushed);
      }
      return false;
    default:
      return false;
  }
}

bool QueuePair::runnable() {
  WorkRequest* request = head();
  return request && (!(request->flags & kWaitFor) || released(*request));
}

void QueuePair::forgetWaits() {
  if (waiting_ == 0) return;
  waiting_ = 0;
  device_.waits().forget(*this);
}

}  // namespace rdmc
