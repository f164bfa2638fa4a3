// A reliable-connection queue pair of an RDMA device, and the shared receive queue: what was posted and has not
// completed, so that slots are counted and memory under a request is never released.
//
// A hardware work request's id tells which record it belongs to:
//
//   63            32 31 30 29                      0
//   queue's number  kind   position in its ring
//
// Numbers have a generation, so that completions of a destroyed queue pair are recognised. Positions
// count up and are cut to 30 bits; rings are far shorter.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ordered_lock.h"
#include "core/region_table.h"
#include "core/scatter_gather.h"
#include "ibv/completion_queue.h"
#include "ibv/lock_order.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

enum class RequestKind : uint32_t { kSend = 0, kReceive = 1, kSharedReceive = 2, kDrain = 3 };
constexpr uint32_t kSharedNumber = 1u << 31;  // tells a shared receive queue's number from a queue pair's
constexpr uint32_t kPositionMask = (1u << 30) - 1;

constexpr uint64_t hardwareId(uint32_t number, RequestKind kind, uint32_t position) {
  return uint64_t(number) << 32 | uint32_t(kind) << 30 | (position & kPositionMask);
}

struct RequestRecord {
  uint64_t id;
  uint32_t bytes;  // what the completion of a READ or an atomic reports
  uint16_t opcode;
  uint16_t regionCount;
  Region* regions[kMaxSge];
};

struct CompletedRequest {
  uint64_t id;
  uint32_t bytes, opcode;
};

// Records in posting order. One thread at a time adds (the poster, under `posting`), one at a time removes (the poller,
// under the completion queue's lock).
class RequestRing {
 public:
  explicit RequestRing(uint32_t depth);
  uint32_t depth() const { return depth_; }
  bool empty() const { return added_.load(std::memory_order_acquire) == removed_.load(std::memory_order_acquire); }
  bool full() const {
    return added_.load(std::memory_order_relaxed) - removed_.load(std::memory_order_acquire) >= depth_;
  }
  uint32_t position() const { return added_.load(std::memory_order_relaxed); }
  // The record for `position() + ahead`.
  RequestRecord& next(uint32_t ahead) { return records_[(position() + ahead) & mask_]; }
  bool roomFor(uint32_t more) const {
    return added_.load(std::memory_order_relaxed) + more - removed_.load(std::memory_order_acquire) < depth_;
  }
  void add(uint32_t count) { added_.fetch_add(count, std::memory_order_release); }
  // Takes back the last ones: they were refused.
  void takeBack(uint32_t count);
  // Removes everything up to the position of a completion and copies that one; false when it is not there.
  bool complete(uint32_t position, CompletedRequest& out, RegionDrops& drops) {
    uint32_t at = removed_.load(std::memory_order_relaxed);
    const uint32_t ahead = (position - at) & kPositionMask;
    if (ahead >= added_.load(std::memory_order_acquire) - at) return false;
    const uint32_t last = at + ahead;
    const RequestRecord& record = records_[last & mask_];
    out = {record.id, record.bytes, record.opcode};
    for (; at != last + 1; ++at) {
      RequestRecord& done = records_[at & mask_];
      for (uint32_t i = 0; i < done.regionCount; ++i) drops.add(done.regions[i]);
      done.regionCount = 0;
    }
    removed_.store(at, std::memory_order_release);
    return true;
  }
  // Whether a record names the region. With both locks held.
  bool names(const Region& region) const;
  // Removes everything; calls back for each record, oldest first.
  template <typename Visit>
  void clear(Visit visit) {
    const uint32_t end = added_.load(std::memory_order_acquire);
    for (uint32_t at = removed_.load(std::memory_order_relaxed); at != end; ++at) {
      drop(records_[at & mask_]);
      visit(records_[at & mask_]);
    }
    removed_.store(end, std::memory_order_release);
  }

 private:
  static void drop(RequestRecord& record);
  const uint32_t depth_, mask_;
  std::unique_ptr<RequestRecord[]> records_;
  std::atomic<uint32_t> added_{0}, removed_{0};
};

struct IbvSharedReceiveQueue {
  IbvSharedReceiveQueue(uint32_t number, uint32_t pd, uint32_t depth);
  const uint32_t number, pd;
  ibv_srq* srq = nullptr;
  Ordered<SpinLock, IbvLock::kShared> lock;  // records and free slots
  std::vector<RequestRecord> records;
  std::vector<uint32_t> free;
  uint32_t users = 0;  // queue pairs; under the lock of IbvSharedReceiveQueues
  void dropAll();      // lets go of all memory; with `lock` held
};

struct IbvQueuePair {
  IbvQueuePair(uint32_t number, const QueuePairParameters& parameters)
      : number(number),
        parameters(parameters),
        sends(parameters.sendDepth),
        receives(parameters.sharedReceiveQueue ? 1 : parameters.receiveDepth) {}

  const uint32_t number;
  const QueuePairParameters parameters;
  std::shared_ptr<IbvCompletionQueue> sendCq, receiveCq;
  std::shared_ptr<IbvSharedReceiveQueue> shared;
  RequestRing sends, receives;
  uint32_t packetNumber = 0;  // first one we send

  Ordered<SpinLock, IbvLock::kPosting> posting;
  ibv_qp* qp = nullptr;    // under `posting`; nullptr once nothing may be posted to it any more
  ibv_qp* lost = nullptr;  // under `posting`: what `qp` was, until it is destroyed
  bool draining = false;   // under `posting`
  bool released = false;   // under `posting`
  std::atomic<QpState> state{kInit};

  // Held while it is connected, which may take a second (address resolution), and while it is destroyed.
  Ordered<std::mutex, IbvLock::kControl> control;
  // Held while it is put into the error state, and while it is destroyed; never for long.
  Ordered<std::mutex, IbvLock::kBreaking> breaking;
  std::atomic<uint32_t> kicks{0};  // calls of IbvErrorState::kick that are not served yet
  std::atomic<bool> connecting{false}, closed{false};
  std::atomic<bool> drained{false};  // the device has finished with it: it completes nothing more
  std::atomic<uint32_t> pathMtu{0};
};

}  // namespace rdmc

#endif
