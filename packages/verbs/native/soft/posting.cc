// Posting batches of work requests, and continuing those that could not be finished at once.
#include <sched.h>

#include <algorithm>

#include "soft/device.h"
#include "soft/shm/wire.h"
#include "soft/tcp/transport.h"

namespace rdmc {
namespace {

// Bytes that the posting thread copies; the service thread copies the rest.
constexpr int64_t kDoorbellBudget = 4 << 20;
// Of one queue pair in its turn: as much as a block of a multicast, because a block that is finished late makes its
// receiver wait, and two half-finished blocks make two receivers wait.
constexpr int64_t kTurnBudget = 1 << 20;
constexpr int64_t kRetryMs = 1;
// After a request that waited was released: some ten microseconds.
constexpr int kLingeringTurns = 16;
constexpr uint64_t kShortBytes = 16 << 10;

int64_t turnBudget(const QueuePair& qp) { return kTurnBudget * qp.parameters().weight; }

}  // namespace

// Requests for one queue pair, in their order; `broken`: a send of it was refused before. Returns how many were
// refused.
uint32_t SoftDevice::accept(QueuePair& target, WorkRequestSlot* slots, uint32_t count, bool broken, bool& sends) {
  uint32_t refused = 0;
  std::lock_guard guard(target.sendLock);
  for (uint32_t i = 0; i < count; ++i) {
    WorkRequestSlot& slot = slots[i];
    if (slot.opcode == kReceive) {
      slot.result = target.postReceive(slot);
    } else {
      // What follows a refused send must not overtake it.
      slot.result = broken ? uint32_t(kWrongState) : target.enqueue(slot);
      sends |= slot.result == kAccepted;
      broken |= slot.result != kAccepted;
    }
    refused += slot.result != kAccepted;
  }
  return refused;
}

uint32_t SoftDevice::post(WorkRequestSlot* slots, uint32_t count) {
  if (removed_.load(std::memory_order_relaxed)) [[unlikely]] {
    for (uint32_t i = 0; i < count; ++i) slots[i].result = kDeviceRemoved;
    return count;
  }
  uint32_t refused = 0;
  TouchedQps touched;
  for (uint32_t first = 0; first < count;) {
    const uint32_t number = slots[first].queuePair;
    uint32_t end = first + 1;
    while (end < count && slots[end].queuePair == number) ++end;
    auto target = qp(number);
    bool sends = false;
    if (target) {
      const bool broken = refused > 0 && refusesSends(slots, first, number);
      refused += accept(*target, slots + first, end - first, broken, sends);
    } else {
      for (uint32_t i = first; i < end; ++i) slots[i].result = kUnknownQueuePair;
      refused += end - first;
    }
    if (sends && std::find(touched.begin(), touched.end(), target) == touched.end()) {
      touched.push_back(std::move(target));
    }
    first = end;
  }
  progressInTurns(touched);
  counters.requests.fetch_add(count, std::memory_order_relaxed);
  counters.doorbells.fetch_add(1, std::memory_order_relaxed);
  return refused;
}

// Fair shares: each queue pair copies a little in its turn. Queue pairs that other threads continue are handed over
// together at the end of a round: a single one would get far ahead while this thread waits for a processor.
void SoftDevice::progressInTurns(TouchedQps& active) {
  int64_t budget = kDoorbellBudget;
  TouchedQps unfinished, forNic;
  while (active.size() > 0) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < active.size(); ++i) {
      Progress result;
      {
        std::lock_guard guard(active[i]->sendLock);
        // The poster's thread does not copy longer for a weight; the service thread gives the turns that are left.
        int64_t share = std::min(turnBudget(*active[i]), kDoorbellBudget);
        budget -= share;
        result = active[i]->progress(share);
        budget += share;
      }
      if (result == Progress::kIdle || result == Progress::kElsewhere) continue;
      if (result == Progress::kForNic) {
        forNic.push_back(std::move(active[i]));
      } else if (result == Progress::kBudget) {
        if (kept != i) active[kept] = std::move(active[i]);
        ++kept;
      } else {
        unfinished.push_back(std::move(active[i]));
      }
    }
    active.truncate(kept);
    if (budget <= 0) {
      for (auto& qp : active) unfinished.push_back(std::move(qp));
      active.truncate(0);
    }
    if (unfinished.size() > 0) handOver(unfinished);
    if (forNic.size() > 0) tcp_->mark({forNic.begin(), forNic.end()});
    unfinished.truncate(0);
    forNic.truncate(0);
  }
}

void SoftDevice::handOver(std::shared_ptr<QueuePair> qp) {
  TouchedQps one;
  one.push_back(std::move(qp));
  handOver(one);
}

void SoftDevice::handOver(TouchedQps& qps) {
  {
    std::lock_guard guard(unfinishedLock_);
    for (auto& qp : qps) {
      // Already on the list, perhaps as blocked and without a deadline: the service thread may be asleep.
      if (qp->inService.exchange(true)) continue;
      counters.handedOver.fetch_add(1, std::memory_order_relaxed);
      unfinished_.push_back(std::move(qp));
    }
  }
  service_->poke();
}

bool SoftDevice::drive(QueuePair& qp, int64_t& nextNs, bool& more) {
  std::lock_guard guard(qp.sendLock);
  int64_t share = turnBudget(qp);
  // From here on, another thread that finds something to do for it hands it over again.
  qp.inService.store(false);
  const Progress result = qp.progress(share);
  if (result == Progress::kForNic) {
    const auto shared = qp.shared_from_this();
    tcp_->mark({&shared, 1});
  }
  if (result == Progress::kIdle || result == Progress::kForNic || result == Progress::kElsewhere) return false;
  if (result == Progress::kBudget) more = true;
  if (result == Progress::kRetry) nextNs = std::min(nextNs, steadyNs() + kRetryMs * 1'000'000);
  const int64_t deadline = qp.wire() ? qp.wire()->deadline() : 0;
  if (result == Progress::kBlocked && deadline != 0) nextNs = std::min(nextNs, deadline);
  return !qp.inService.exchange(true);  // it may be on the list again already
}

// Where short requests that wait are released one after the other, the next message is likely to come at once. A thread that
// slept would be woken for each of them, which takes longer than to look again. Behind long ones it sleeps: on a busy machine a
// thread that is woken gets the processor sooner than one that has given it away.
int SoftDevice::turn() {
  const int sleepMs = turnOnce();
  const uint64_t released = counters.released.load(std::memory_order_relaxed);
  const uint64_t copied = counters.copiedBytes.load(std::memory_order_relaxed);
  if (copied - copiedBefore_ > (released - releasedBefore_) * kShortBytes) {
    lingers_ = 0;
  } else if (released != releasedBefore_) {
    lingers_ = kLingeringTurns;
  }
  releasedBefore_ = released;
  copiedBefore_ = copied;
  if (lingers_ == 0 || sleepMs == 0) return sleepMs;
  --lingers_;
  ::sched_yield();
  return 0;
}

int SoftDevice::turnOnce() {
  waits_.look();
  std::vector<std::shared_ptr<QueuePair>> mine;
  {
    std::lock_guard guard(unfinishedLock_);
    mine.swap(unfinished_);
  }
  if (mine.empty()) return -1;
  int64_t nextNs = INT64_MAX;
  bool more = false;
  std::erase_if(mine, [&](const auto& qp) { return !drive(*qp, nextNs, more); });
  if (!mine.empty()) {
    std::lock_guard guard(unfinishedLock_);
    unfinished_.insert(unfinished_.end(), mine.begin(), mine.end());
  }
  if (more) return 0;
  if (nextNs == INT64_MAX) return -1;
  return int(std::clamp<int64_t>((nextNs - steadyNs()) / 1'000'000 + 1, 0, 1000));
}

}  // namespace rdmc
