// A completion queue is private to its process. It merges
//  - its own queue: completions of requests this process posted, pushed by any of its threads, and
//  - the inbound rings of its queue pairs, which peers fill; a ready bitmap says where to look.
// It grows instead of overrunning.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/constants.h"
#include "core/device.h"
#include "core/ordered_lock.h"
#include "core/raii.h"
#include "soft/control_segment.h"
#include "soft/lock_order.h"
#include "soft/peer_bells.h"

namespace rdmc {

class SoftChannel final : public Channel {
 public:
  SoftChannel();
  // Readable when the channel was signalled or a peer has sent a byte to a bell.
  int fd() const override { return epoll_.get(); }
  void signal() const override;
  void drain() override;
  // Unique among all channels of the process, destroyed ones included.
  uint64_t id() const { return id_; }
  PeerBells& bells() { return bells_; }
  std::atomic<uint32_t> users{0};

 private:
  const uint64_t id_;
  Fd event_;  // never handed out
  Fd epoll_;
  PeerBells bells_{epoll_};
};

class SoftCompletionQueue final : public CompletionQueue {
 public:
  SoftCompletionQueue(uint32_t index, SharedCq& shared, std::shared_ptr<SoftChannel> channel);
  uint32_t index() const { return index_; }
  const std::shared_ptr<SoftChannel>& channel() const { return channel_; }

  // A queue armed for solicited completions is woken by failures only: own requests are never solicited.
  void push(const CompletionSlot& completion);
  // Takes own completions into `out`; returns how many.
  uint32_t take(CompletionSlot* out, uint32_t max);
  bool empty() const { return size_.load(std::memory_order_acquire) == 0; }
  // Removes completions of a destroyed queue pair.
  void purge(uint32_t queuePair);

  void arm(bool solicitedOnly) override;
  // Signals the channel when armed; once per arming.
  void notify(bool solicited);
  // Signals whether it is armed or not: used when a peer died, perhaps before it signalled.
  void notifyAlways() const;

  SharedCq& shared() const { return shared_; }
  std::atomic<uint32_t> users{0};  // queue pairs

 private:
  uint32_t index_;
  SharedCq& shared_;
  std::shared_ptr<SoftChannel> channel_;
  Ordered<SpinLock, SoftLock::kCompletions> lock_;
  std::vector<CompletionSlot> ring_;  // a power of two
  uint32_t head_ = 0;
  std::atomic<uint32_t> size_{0};
  std::atomic<uint32_t> lastSignalled_{0};
};

// Whether an initiator that has just published must signal; remembers that it did.
inline bool shouldSignal(const SharedCq& cq, std::atomic<uint32_t>& lastSignalled, bool solicited) {
  const uint32_t armed = cq.armed.load(std::memory_order_seq_cst);
  if (armed == 0 || armed == lastSignalled.load(std::memory_order_relaxed)) return false;
  if ((armed & 1) && !solicited) return false;
  lastSignalled.store(armed, std::memory_order_relaxed);
  return true;
}

}  // namespace rdmc
