#include "ibv/error_state.h"

#include <time.h>

#include <mutex>
#include <shared_mutex>
#include <utility>

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

// Longest wait for the last receive of a broken queue pair: far beyond what any device takes.
constexpr int64_t kDrainLimitNs = 2'000'000'000;
// The same for a queue pair with a shared receive queue, whose end the device tells by an event; rdma_rxe of Linux 6.1
// does not.
constexpr int64_t kLastSharedLimitNs = 200'000'000;
constexpr int64_t kLastSharedLimitRxeNs = 5'000'000;
constexpr long kNapNs = 20'000;

int64_t nowNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void nap() {
  const timespec time{0, kNapNs};
  ::nanosleep(&time, nullptr);
}

// Whether peers reach memory of the protection domain through it: what it receives goes where its shared receive queue
// says, and that may have another domain.
bool reaches(const IbvQueuePair& qp, uint32_t pd) {
  return qp.parameters.pd == pd || (qp.shared && qp.shared->pd == pd);
}

bool uses(IbvQueuePair& qp, const Region& region) {
  std::lock_guard guard(qp.posting);
  const auto names = [&](IbvCompletionQueue& cq, const RequestRing& ring) {
    std::lock_guard polling(cq.lock);
    return ring.names(region);
  };
  return names(*qp.sendCq, qp.sends) || names(*qp.receiveCq, qp.receives);
}

}  // namespace

// May be called while another thread connects it: the kernel orders the two, and what comes second fails or breaks it.
void IbvErrorState::breakOff(IbvQueuePair& qp) {
  std::lock_guard breaking(qp.breaking);
  ibv_qp* mine;
  {
    std::lock_guard guard(qp.posting);
    mine = qp.qp ? qp.qp : qp.lost;
  }
  if (!mine) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  context_.library().modify_qp(mine, &attributes, IBV_QP_STATE);
}

void IbvErrorState::kick(IbvQueuePair& qp) {
  if (qp.kicks.fetch_add(1) > 0) return;  // the thread that does so will repeat it
  for (uint32_t seen = qp.kicks.load(); seen > 0;) {
    breakOff(qp);
    seen = qp.kicks.fetch_sub(seen) - seen;
  }
}

void IbvErrorState::toError(IbvQueuePair& qp) {
  qp.state = kError;
  breakOff(qp);
}

void IbvErrorState::fail(IbvQueuePair& qp) {
  std::shared_lock gate(context_.gate);
  toError(qp);
  if (awaitEnd(qp)) return;
  // Destroying it is a barrier on every device.
  std::lock_guard control(qp.control);
  lose(qp, kFlushed);
}

void IbvErrorState::breakDomain(uint32_t pd) {
  for (const auto& each : table_.all()) {
    if (reaches(*each, pd)) toError(*each);
  }
}

void IbvErrorState::loseDomain(uint32_t pd) {
  std::shared_lock gate(context_.gate);
  for (const auto& each : table_.all()) {
    if (!reaches(*each, pd)) continue;
    std::lock_guard control(each->control);
    lose(*each, kFlushed);
  }
}

void IbvErrorState::failUsers(const Region& region) {
  if (region.outstanding.load() == 0) return;
  const auto takeCompleted = [this](IbvQueuePair& qp) {
    std::shared_lock gate(context_.gate);
    qp.sendCq->absorb();
    qp.receiveCq->absorb();
  };
  for (const auto& each : table_.all()) {
    takeCompleted(*each);
    if (!uses(*each, region)) continue;
    fail(*each);
    takeCompleted(*each);
  }
}

// Posts a receive behind all others. The device flushes receives in order, after the request that it is executing.
bool IbvErrorState::postMarker(IbvQueuePair& qp) {
  std::lock_guard guard(qp.posting);
  if (!qp.qp || context_.removed || qp.draining) return true;
  ibv_recv_wr request{};
  ibv_recv_wr* bad;
  request.wr_id = hardwareId(qp.number, RequestKind::kDrain, 0);
  qp.draining = ibv_post_recv(qp.qp, &request, &bad) == 0;
  return qp.draining;
}

bool IbvErrorState::awaitEnd(IbvQueuePair& qp) {
  if (!qp.shared) {
    if (!postMarker(qp)) return false;
    breakOff(qp);
  }
  const int64_t shared = context_.isSoftRoce() ? kLastSharedLimitRxeNs : kLastSharedLimitNs;
  const int64_t limit = nowNs() + (qp.shared ? shared : kDrainLimitNs);
  for (;; nap()) {
    qp.receiveCq->absorb();
    if (qp.shared && takeReached(qp.number)) qp.drained = true;
    {
      std::lock_guard guard(qp.posting);
      if (!qp.qp) return true;
    }
    if (qp.drained || context_.removed) return true;
    if (nowNs() > limit) return false;
  }
}

void IbvErrorState::lastReached(uint32_t number) {
  std::lock_guard guard(lock_);
  lastReached_.insert(number);
}

bool IbvErrorState::takeReached(uint32_t number) {
  std::lock_guard guard(lock_);
  return lastReached_.erase(number) > 0;
}

void IbvErrorState::takeAway(IbvQueuePair& qp) {
  std::lock_guard guard(qp.posting);
  if (qp.qp) qp.lost = std::exchange(qp.qp, nullptr);
}

// Some drivers drop what a destroyed queue pair left in the completion queues, requests of a shared receive queue
// included, whose slots would never be free again: so the queues are emptied before.
void IbvErrorState::destroyLost(IbvQueuePair& qp) {
  qp.sendCq->absorb();
  qp.receiveCq->absorb();
  std::lock_guard breaking(qp.breaking);
  ibv_qp* mine;
  {
    std::lock_guard guard(qp.posting);
    mine = std::exchange(qp.lost, nullptr);
  }
  if (!mine) return;
  if (qp.closed) table_.forget(mine->qp_num);
  context_.library().destroy_qp(mine);
}

void IbvErrorState::lose(IbvQueuePair& qp, uint32_t firstStatus) {
  qp.state = kError;
  takeAway(qp);
  destroyLost(qp);
  qp.sendCq->absorb();
  qp.receiveCq->absorb();
  std::lock_guard guard(qp.posting);
  flushHere(qp, firstStatus);
}

// The oldest request gets `firstStatus`, the others kFlushed.
void IbvErrorState::flushHere(IbvQueuePair& qp, uint32_t firstStatus) {
  CompletionSlot flushed{};
  flushed.queuePair = qp.number;
  flushed.status = firstStatus;
  const auto flush = [&](IbvCompletionQueue& cq, RequestRing& ring, bool sends) {
    std::lock_guard guard(cq.lock);
    bool any = false;
    ring.clear([&](const RequestRecord& record) {
      flushed.idLow = uint32_t(record.id);
      flushed.idHigh = uint32_t(record.id >> 32);
      flushed.opcode = sends ? completionOpcode(record.opcode) : uint32_t(kCompletedReceive);
      cq.push(flushed);
      flushed.status = kFlushed;
      any = true;
    });
    if (any && cq.channel()) cq.channel()->signal();
  };
  flush(*qp.sendCq, qp.sends, true);
  flush(*qp.receiveCq, qp.receives, false);
}

}  // namespace rdmc

#endif
