#include "soft/shm/wire.h"

#include <chrono>

#include "soft/device.h"

namespace rdmc {
namespace {

constexpr int kRetriesAtOnce = 100;

}  // namespace

int64_t steadyNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

ShmWire::ShmWire(SoftTransport& transport, Peer peer, uint64_t ownToken, uint32_t retryTimeoutMs)
    : transport_(transport),
      link_(std::move(peer.link)),
      peerNumber_(peer.number),
      ownDevice_(peer.ownDevice),
      ownToken_(ownToken),
      retryTimeoutMs_(retryTimeoutMs),
      theirs_(link_->control().qp(peer.number & (kMaxQps - 1))),
      theirSlots_(link_->control().receiveSlots(peer.number & (kMaxQps - 1), peer.ring)),
      theirInbound_(link_->control().inbound(peer.number & (kMaxQps - 1), peer.ring)),
      theirIndex_(peer.number & (kMaxQps - 1)),
      theirRing_(peer.ring),
      theirCq_(readOnce(theirs_.receiveCq) & (kMaxCqs - 1)),
      theirDomain_(readOnce(theirs_.protectionDomain)) {}

bool ShmWire::enter(uint32_t regionIndex) {
  if (!connected()) return false;  // the page may belong to another queue pair now
  theirs_.busyRegion.store(regionIndex, std::memory_order_release);
  // A full barrier: the target's state is read after `busy` is visible to all.
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

// Each wait has its own clock and its own limit: one may follow the other at once, and a receiver that is not ready may
// be waited for without end.
void ShmWire::miss(Missing what) {
  if (missing_ == what) return;
  missing_ = what;
  missingSinceNs_ = steadyNs();
  deadlineNs_ = 0;
}

bool ShmWire::expired(int64_t allowedMs) {
  const int64_t now = steadyNs();
  deadlineNs_ = missingSinceNs_ + allowedMs * 1'000'000;
  return now >= deadlineNs_;
}

// Measured apart from other waits: a receiver that is not ready has answered, and has limits of its own.
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
  miss(Missing::kConnection);
  if (expired(qp.parameters().retryTimeoutMs)) return fail(kRetryExceeded, false);
  return Step::kBlocked;
}

ShmWire::Step ShmWire::receiverNotReady(QueuePair& qp) {
  rnrWaiting_ = true;
  theirs_.rnrWaiting.store(1, std::memory_order_seq_cst);
  if (theirs_.receivesPosted.load(std::memory_order_seq_cst) != produced_) return Step::kRetry;
  miss(Missing::kReceive);
  const ConnectParameters& limits = qp.parameters();
  if (limits.rnrRetries < 7 && expired(int64_t(limits.rnrRetries) * limits.rnrTimerMs)) {
    return fail(kRnrRetryExceeded, false);
  }
  if (!link_->alive()) return fail(kRetryExceeded, false);
  return Step::kBlocked;
}

Progress ShmWire::progress(QueuePair& qp, int64_t& budgetBytes) {
  if (detached_) return Progress::kIdle;
  int retries = 0;
  while (WorkRequest* request = qp.head()) {
    if ((request->flags & kWaitFor) && !qp.released(*request)) [[unlikely]]
      return Progress::kElsewhere;
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
    miss(Missing::kNothing);
    retryingSinceNs_ = 0;
    if (result == Step::kFailed) {
      if (tellPeer_) {
        LinkMessage message = linkMessage(kPeerError);
        message.peerError.queuePair = peerNumber_;
        link_->send(message);
        qp.device().service().poke();  // sends it later where the socket is full now
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
      // The memory of a dead process can still be written: check before reporting success.
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
  // The peer writes rnrWaiting: it clears it when it has found a receive.
  if (qp.shared().rnrWaiting.load(std::memory_order_seq_cst)) link_->poke();
}

void ShmWire::resume(QueuePair& qp) { qp.device().handOver(qp.shared_from_this()); }

bool ShmWire::quiesce(QueuePair& qp) { return qp.device().waitForPeer(qp, link_->control()); }

void ShmWire::detach(QueuePair&) {
  detached_ = true;
  arena_.reset();
}

}  // namespace rdmc
