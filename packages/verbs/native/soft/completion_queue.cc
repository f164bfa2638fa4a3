#include "soft/completion_queue.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <mutex>

#include "core/failure.h"

namespace rdmc {

static std::atomic<uint64_t> channelsMade{0};

constexpr int kDrainedAtOnce = 16;

SoftChannel::SoftChannel()
    : id_(++channelsMade), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = event_.get();
  if (!event_.valid() || !epoll_.valid() || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event_.get(), &event) != 0) {
    throw systemFailure("eventfd", "Creating a completion channel", errno);
  }
}

void SoftChannel::signal() const {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);  // full: already readable
}

void SoftChannel::drain() {
  epoll_event ready[kDrainedAtOnce];
  const int count = ::epoll_wait(epoll_.get(), ready, kDrainedAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.fd != event_.get()) {
      bells_.silence(ready[i].data.fd);
      continue;
    }
    uint64_t signals;
    [[maybe_unused]] const auto got = ::read(event_.get(), &signals, sizeof signals);
  }
}

SoftCompletionQueue::SoftCompletionQueue(uint32_t index, SharedCq& shared, std::shared_ptr<SoftChannel> channel)
    : index_(index), shared_(shared), channel_(std::move(channel)), ring_(256) {
  shared_.armed.store(0);
  for (auto& word : shared_.ready) word.store(0);
}

void SoftCompletionQueue::push(const CompletionSlot& completion) {
  {
    std::lock_guard guard(lock_);
    uint32_t size = size_.load(std::memory_order_relaxed);
    if (size == ring_.size()) {
      std::vector<CompletionSlot> larger(ring_.size() * 2);
      for (uint32_t i = 0; i < size; ++i) larger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
      ring_.swap(larger);
      head_ = 0;
    }
    ring_[(head_ + size) & (ring_.size() - 1)] = completion;
    size_.store(size + 1, std::memory_order_seq_cst);
  }
  notify(completion.status != kSuccess);
}

uint32_t SoftCompletionQueue::take(CompletionSlot* out, uint32_t max) {
  if (empty()) return 0;
  std::lock_guard guard(lock_);
  const uint32_t size = size_.load(std::memory_order_relaxed);
  const uint32_t count = size < max ? size : max;
  for (uint32_t i = 0; i < count; ++i) out[i] = ring_[(head_ + i) & (ring_.size() - 1)];
  head_ = (head_ + count) & (ring_.size() - 1);
  size_.store(size - count, std::memory_order_release);
  return count;
}

void SoftCompletionQueue::purge(uint32_t queuePair) {
  std::lock_guard guard(lock_);
  const uint32_t size = size_.load(std::memory_order_relaxed);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < size; ++i) {
    const CompletionSlot slot = ring_[(head_ + i) & (ring_.size() - 1)];
    if (slot.queuePair != queuePair) ring_[(head_ + kept++) & (ring_.size() - 1)] = slot;
  }
  size_.store(kept, std::memory_order_release);
}

void SoftCompletionQueue::arm(bool solicitedOnly) {
  // Signals from before this arming concern completions which the caller's next poll finds. On a channel
  // of several queues they may be another queue's.
  if (channel_ && channel_->users == 1) channel_->drain();
  // Counted over all queues, so that a queue that takes the place of another is not mistaken for it.
  static std::atomic<uint32_t> armings{0};
  const uint32_t count = armings.fetch_add(1, std::memory_order_relaxed) % 0x7ffffff0 + 1;
  shared_.armed.store(count << 1 | (solicitedOnly ? 1 : 0), std::memory_order_seq_cst);
  // The caller's next read of the ready bitmap must not be ordered before this.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void SoftCompletionQueue::notify(bool solicited) {
  if (channel_ && shouldSignal(shared_, lastSignalled_, solicited)) channel_->signal();
}

void SoftCompletionQueue::notifyAlways() const {
  if (channel_) channel_->signal();
}

}  // namespace rdmc
