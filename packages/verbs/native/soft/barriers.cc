// Barriers against peers: after one of these has returned, no byte changes any more.
//
// The target first changes shared memory (the queue pair's state, the region's key), then waits until no initiator is
// in the middle of a quantum. An initiator that stays there is stopped (SIGSTOP, a debugger): the region's addresses
// are given fresh memory, and the stopped initiator may write into the old memory. Other initiators wait meanwhile;
// stores of this process's threads and of its NIC thread are carried over (core/arena_pool.cc).
//
// Fresh memory takes a descriptor, addresses and pages. Where one of these has run out, the peer may still write, and
// the caller is told: revoking and closing a region fail; a queue pair's receives end with FATAL instead of being
// flushed, an event has the reason, and the queue pair cannot be closed. Each may be tried again.
#include <time.h>

#include "soft/device.h"
#include "soft/shm/wire.h"
#include "soft/tcp/transport.h"

namespace rdmc {
namespace {

constexpr int64_t kStoppedPeerNs = 50'000'000;  // busy with one quantum for longer than this: stopped
constexpr long kNapUs = 20;

void nap() {
  const timespec time{0, kNapUs * 1000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

bool SoftDevice::waitWhileBusy(QueuePair& qp, uint32_t regionIndex, bool anyRegion) {
  SharedQp& page = qp.shared();
  const uint32_t seen = page.busy.load(std::memory_order_seq_cst);
  if ((seen & 1) == 0) return true;
  if (seen == qp.leftBehind.load(std::memory_order_seq_cst)) return true;
  if (!anyRegion && page.busyRegion.load(std::memory_order_acquire) != regionIndex) return true;
  const int64_t start = steadyNs();
  while (page.busy.load(std::memory_order_seq_cst) == seen) {
    if (qp.wire() && !qp.wire()->peerAlive()) return true;
    if (steadyNs() - start > kStoppedPeerNs) return false;
    nap();
  }
  return true;
}

bool SoftDevice::waitForPeer(QueuePair& qp, const ControlSegment& peer) {
  if (!peer.alive() || waitWhileBusy(qp, 0, true)) return true;
  try {
    relocateRegion(qp.shared().busyRegion.load());
    return true;
  } catch (const std::exception&) {
    const Failure failure = caughtFailure();
    events().publish({"queuePairFatal",
                      "Queue pair " + std::to_string(qp.number()) +
                          " has failed, and a stopped peer may still write to its memory, which cannot be replaced: " +
                          failure.what(),
                      0, qp.number()});
    return false;
  }
}

void SoftDevice::quiesceRegion(uint32_t index) {
  bool stopped = false;
  eachQp([&](const std::shared_ptr<QueuePair>& qp) { stopped |= !waitWhileBusy(*qp, index, false); });
  if (stopped) relocateRegion(index);
  if (tcp_) tcp_->quiesceRegion(index);
}

void SoftDevice::relocateRegion(uint32_t index) {
  std::lock_guard guard(relocation_);
  // A region in the course of being closed counts as well: it is removed under the same lock.
  const auto extent = regions_.extent(index);
  if (!extent) return;
  SharedRegion& shared = control_.region(index);
  shared.moving.store(1, std::memory_order_seq_cst);
  Rollback still([&] {
    // Where a part has moved, peers would write to memory that is not read any more.
    if (extent->moved > 0) regions_.hideRetired(index);
    shared.moving.store(0, std::memory_order_seq_cst);
  });
  std::vector<std::pair<std::shared_ptr<QueuePair>, uint32_t>> stopped;
  eachQp([&](const std::shared_ptr<QueuePair>& qp) {
    const uint32_t seen = qp->shared().busy.load(std::memory_order_seq_cst);
    if (!waitWhileBusy(*qp, index, false)) stopped.emplace_back(qp, seen);
  });
  if (!stopped.empty()) {
    shared.arena = pool_->replace(*extent);
    shared.arenaOffset = 0;
    // They may write to the old memory for ever: it is not used any more.
    for (const auto& [qp, seen] : stopped) qp->leftBehind.store(seen, std::memory_order_seq_cst);
  }
  still.dismiss();
  shared.moving.store(0, std::memory_order_seq_cst);
}

}  // namespace rdmc
