// Requests with kWaitFor: what they wait for, and when they may run. The send side of waiting; the receive side is
// soft/waiting.cc.
//
// A waiting request stays in its send queue, and holds the requests behind it, as a WAIT work request of mlx5 does
// (opcode 0x0f; MLX5_OPCODE_CQE_WAIT in the cross-channel patches to libmlx5, IBV_EXP_WR_CQE_WAIT in Mellanox's
// libibverbs). mlx5 counts completions of a completion queue, failed ones too; here the receives of one queue pair
// count, and only those that succeeded.
//
// Who looks: the thread that posts; then whichever thread sees that a receive has come. Over TCP that is the NIC
// thread. Over shared memory no thread of this process sees it, because the peer's thread copies: the peer finds
// SharedQp::wakeAt, and wakes this device's service thread, which continues the waiting queue pair. The application's
// threads may sleep.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/constants.h"
#include "core/ordered_lock.h"
#include "soft/lock_order.h"

namespace rdmc {

class QueuePair;
class SoftDevice;

// All that one request waits for.
struct Wait {
  struct Condition {
    std::shared_ptr<QueuePair> source;
    uint64_t receives = 0;
  };
  Condition conditions[kMaxWaits];
  uint32_t count = 0;
  // Sends of the same queue pair before this one that take a receive of its peer: the peer gets no more before this
  // request runs.
  uint64_t deliveriesBefore = 0;
};

// The functions with an `owner` are called with its sendLock held.
class Waits {
 public:
  explicit Waits(SoftDevice& device) : device_(device) {}

  // Checks and keeps the conditions of a request that is being posted. Returns a PostResult.
  uint32_t admit(QueuePair& owner, const WorkRequestSlot& slot);
  // The request that was admitted last was refused for another reason.
  void withdraw(QueuePair& owner);
  enum class State { kOver, kWaiting, kHopeless };
  // Of the first waiting request. Where it waits, the owner's wire is resumed when that may have changed.
  State stateOf(QueuePair& owner);
  // The first waiting request runs.
  void release(QueuePair& owner);
  // All requests of the owner have ended.
  void forget(QueuePair& owner);

  // The queue pair was destroyed.
  void closed(uint32_t number);
  // The service thread, at each turn: a peer may have woken it because of a receive.
  void look();

 private:
  using Lock = Ordered<std::mutex, SoftLock::kWaits>;
  uint32_t read(const WorkRequestSlot& slot, Wait& out);
  bool circle(const QueuePair& owner, const Wait& wait) const;

  SoftDevice& device_;
  mutable Lock lock_;
  std::unordered_map<uint32_t, std::deque<Wait>> waiting_;          // by owner, in posting order
  std::unordered_map<uint32_t, std::weak_ptr<QueuePair>> awaited_;  // by number
};

}  // namespace rdmc
