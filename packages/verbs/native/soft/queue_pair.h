// A reliable-connection queue pair of the soft device: its queues and their bookkeeping.
// Its Wire moves requests to the peer. Locks: soft/lock_order.h.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/constants.h"
#include "core/device.h"
#include "core/ordered_lock.h"
#include "core/region_table.h"
#include "soft/completion_queue.h"
#include "soft/control_segment.h"
#include "soft/lock_order.h"
#include "soft/receive_count.h"
#include "soft/send_ring.h"

namespace rdmc {

class QueuePair;
class SoftDevice;
class SoftTransport;

struct LocalSge {
  uint64_t address;  // where the device reads and writes: Region::deviceMemory
  uint32_t length, lkey;
};

// A send request in the device's own memory. Its regions are held until it completes.
struct WorkRequest {
  uint64_t id;
  uint32_t opcode, flags, sgeCount, immediate;
  uint32_t rkey;
  uint64_t remote, compare, swap;
  uint64_t length;
  uint64_t placed;  // of a torn request: bytes that reach the peer
  bool torn;        // for tests, see soft/write_tear.h
  Region* regions[kMaxSge];
  union {
    LocalSge sge[kMaxSge];
    uint8_t inlineBytes[kMaxInlineBytes];
  };
};

struct ReceiveRecord {
  uint64_t id;
  uint64_t length;  // room for a message
  uint32_t regionCount;
  Region* regions[kMaxSge];
};

// Whether a peer may have published this for a receive with so much room.
bool plausible(const InboundCompletion& inbound, uint64_t room);

enum class Progress {
  kIdle,       // nothing left to do
  kBudget,     // the budget is used up, more can be done
  kBlocked,    // waits for the peer; the service thread is woken when it can continue
  kRetry,      // waits for a change that is not announced: try again soon
  kElsewhere,  // another thread moves it, or resumes it when what it waits for has come
  kForNic      // the NIC thread moves it, once it is marked
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual SoftTransport& transport() const = 0;
  // Whether the process at the other end can still change bytes here.
  virtual bool peerAlive() const { return true; }
  // Moves requests from the head of the send queue. Called with sendLock held.
  virtual Progress progress(QueuePair& qp, int64_t& budgetBytes) = 0;
  // When a blocked queue pair must be tried again, in steady-clock nanoseconds; 0: never.
  virtual int64_t deadline() const { return 0; }
  virtual void receivePosted(QueuePair& qp) = 0;
  // What a request waits for may have come: a thread of the device looks. From any thread, with any queue pair's locks.
  virtual void resume(QueuePair& qp) = 0;
  // The number of the queue pair at the other end where that belongs to the same device; else 0.
  virtual uint32_t localPeer() const = 0;
  // The error state was set: returns when the peer changes no more bytes through this queue pair. False: it still may.
  virtual bool quiesce(QueuePair& qp) = 0;
  // The last call, with sendLock held: releases everything that belongs to the peer.
  virtual void detach(QueuePair& qp) = 0;
};

class QueuePair : public std::enable_shared_from_this<QueuePair> {
 public:
  QueuePair(SoftDevice& device, uint32_t number, const QueuePairParameters& parameters,
            std::shared_ptr<SoftCompletionQueue> sendCq, std::shared_ptr<SoftCompletionQueue> receiveCq);
  // Of its completion queues, which count it already. They may be closed after this, although a thread may still hold
  // this object.
  void leaveQueues();

  uint32_t number() const { return number_; }
  uint32_t index() const { return number_ & (kMaxQps - 1); }
  uint32_t protectionDomain() const { return pd_; }
  QpState state() const { return QpState(mine_.state.load(std::memory_order_acquire)); }
  SharedQp& shared() const { return mine_; }
  const std::shared_ptr<SoftCompletionQueue>& sendCq() const { return sendCq_; }
  const std::shared_ptr<SoftCompletionQueue>& receiveCq() const { return receiveCq_; }
  SoftDevice& device() const { return device_; }

  // Posting, by the thread that owns the queue pair. The first two return a PostResult.
  uint32_t enqueue(const WorkRequestSlot& slot);  // with sendLock held
  uint32_t postReceive(const WorkRequestSlot& slot);
  bool mayReceiveInto(const Region& region) const;
  Progress progress(int64_t& budgetBytes);  // with sendLock held

  // For wires, with sendLock held.
  WorkRequest* head() { return size_ == 0 ? nullptr : &ring_[head_]; }
  // The i-th request from the head, for wires that have several under way.
  WorkRequest* at(uint32_t i) { return i < size_ ? &ring_[(head_ + i) % ring_.depth()] : nullptr; }
  uint32_t pendingSends() const { return size_; }
  size_t sendDepth() const { return ring_.depth(); }
  size_t receiveDepth() const { return receiveDepth_; }
  void completeHead(Status status, uint64_t bytes);
  // Error state: the head completes with `status`, everything else as flushed. A barrier; false where it cannot be one:
  // the peer may still change bytes, and receives end with kFatal.
  bool failLocked(Status status);

  // Of a request with kWaitFor, the first such one in the queue: whether it may run now. If that will never be and it
  // is at the head, the queue pair fails.
  bool released(WorkRequest& request);
  // Whether there is a head, and it does not wait for other queue pairs.
  bool runnable();
  // Whether it failed because such a request can never run. Any thread.
  bool brokenByWait() const { return brokenByWait_.load(std::memory_order_acquire); }
  // Sends that were posted and take a receive of the peer.
  uint64_t deliveries() const { return deliveries_; }

  // Any thread.
  void fail(Status status);
  // Fails if a request that has not ended names the region.
  void failIfUsing(const Region& region);
  uint32_t mergeInbound(CompletionSlot* out, uint32_t max);
  // For wires that receive in this process (TCP): the next posted receive, nullptr when there is none.
  const ReceiveSlot* nextReceive() const;
  void produceInbound(const InboundCompletion& completion, bool solicited);

  // For requests that wait for receives of this queue pair (soft/waiting.cc). Any thread.
  enum class Awaited { kCame, kNotYet, kNever };
  // Whether `receives` receives have succeeded, since it was created.
  Awaited awaited(uint64_t receives);
  // The same; if not yet, the waiter's wire is resumed when that has changed.
  Awaited await(uint64_t receives, QueuePair& waiter);
  bool hasWaiters();
  // Resumes those whose receives have come, or cannot come any more.
  void resumeWaiters();
  // A receive was completed in this process (TCP).
  void received();
  // The queue pair of the same device that is connected to this one; 0: none.
  uint32_t feeder();

  void attach(std::shared_ptr<Wire> wire, uint64_t peerToken, const ConnectParameters& parameters);
  // With sendLock held, or once it is connected.
  const std::shared_ptr<Wire>& wire() const { return wire_; }
  const ConnectParameters& parameters() const { return parameters_; }
  // Any thread, also while it is being connected.
  std::shared_ptr<Wire> wireNow();
  ConnectParameters parametersNow();

  Ordered<SpinLock, SoftLock::kSend> sendLock;
  std::atomic<bool> inService{false};  // on the service thread's list of unfinished queue pairs
  std::atomic<bool> connecting{false};
  // The busy word of an initiator that was stopped and left behind in old memory; 0: none.
  std::atomic<uint32_t> leftBehind{0};

 private:
  friend class SoftDevice;
  friend struct ReceiveCounters;  // of a test: begins them elsewhere
  class SoftTransport;
  uint32_t append(const WorkRequestSlot& slot);
  uint32_t appendWaiting(const WorkRequestSlot& slot);
  void forgetWaits();
  uint32_t loadSges(const WorkRequestSlot& slot, WorkRequest& request);
  void releaseRegions(WorkRequest& request);
  bool sendsUse(const Region& region);  // with sendLock held
  bool receivesUse(const Region& region);
  void flushReceives(Status status = kFlushed);
  CompletionSlot receiveCompletion(uint32_t at, const InboundCompletion& published);
  void dropReceive(uint32_t at);
  // With receiveLock_ held.
  void countReceives();
  Awaited awaitedNow(uint64_t receives);
  void announceWaiters();

  SoftDevice& device_;
  const uint32_t number_, pd_, receiveDepth_;
  SharedQp& mine_;
  ReceiveSlot* const receiveSlots_;
  InboundCompletion* const inbound_;
  std::shared_ptr<SoftCompletionQueue> sendCq_, receiveCq_;
  const bool signalAll_;
  // It begins again when it is empty, so that a deep queue has memory only if it is used.
  SendRing<WorkRequest> ring_;
  uint32_t head_ = 0, size_ = 0;
  uint32_t waiting_ = 0;  // of these, with kWaitFor
  uint64_t deliveries_ = 0;

  Ordered<SpinLock, SoftLock::kReceive> receiveLock_;
  std::vector<ReceiveRecord> receives_;  // a ring beside `receiveSlots_` and `inbound_`
  uint32_t receivesPosted_ = 0, receivesConsumed_ = 0;
  bool receivesFlushed_ = false;
  ReceiveCount count_;
  struct Waiter {
    uint32_t number;
    uint64_t receives;
    std::weak_ptr<QueuePair> queuePair;
  };
  std::vector<Waiter> waiters_;
  std::atomic<uint64_t> wakeAt_{0};  // as in SharedQp, which peers may change

  bool failed_ = false;  // under sendLock
  std::atomic<bool> brokenByWait_{false};
  std::shared_ptr<Wire> wire_;
  ConnectParameters parameters_;
};

}  // namespace rdmc
