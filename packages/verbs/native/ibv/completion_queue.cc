#include "ibv/completion_queue.h"

#if RDMC_WITH_IBVERBS

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>

#include "ibv/error_state.h"
#include "ibv/limits.h"
#include "ibv/translator.h"

namespace rdmc {
namespace {
constexpr uint32_t kPollChunk = 32;
}

IbvCompletionQueue::IbvCompletionQueue(const IbvPolling& polling, uint32_t depth, std::shared_ptr<IbvChannel> channel)
    : polling_(polling), channel_(std::move(channel)) {
  const IbvContext& context = polling_.context;
  ibv_comp_channel* const events = channel_ ? channel_->hardware() : nullptr;
  cq_ = context.library().create_cq(context.hardware(), int(depth), this, events, 0);
  if (!cq_) {
    throw context.refusal("ibv_create_cq", "Creating a completion queue of " + std::to_string(depth) + " entries",
                          errno);
  }
}

void IbvCompletionQueue::release() {
  ibv_cq* mine;
  {
    std::lock_guard guard(lock);
    mine = std::exchange(cq_, nullptr);
    lastHolder.reset();  // it holds this queue
  }
  if (!mine) return;
  // The library would wait for events that were not acknowledged. Some may be another queue's.
  if (channel_) channel_->acknowledge();
  polling_.context.library().destroy_cq(mine);
  if (channel_) --channel_->users;
}

void IbvCompletionQueue::arm(bool solicitedOnly) {
  std::lock_guard guard(lock);
  // rdma_rxe raises no event for a failed send where only solicited completions are waited for.
  if (cq_) ibv_req_notify_cq(cq_, solicitedOnly && !polling_.context.isSoftRoce() ? 1 : 0);
}

uint32_t IbvCompletionQueue::poll(CompletionSlot* out, uint32_t max) {
  uint32_t count = 0;
  bool broken;
  {
    std::lock_guard guard(lock);
    while (!waiting_.empty() && count < max) {
      out[count++] = waiting_.front();
      waiting_.pop_front();
    }
    count += pollHardware(out + count, max - count);
    broken = !broken_.empty();
  }
  if (broken) kickBroken();
  return count;
}

void IbvCompletionQueue::kickBroken() {
  std::vector<std::shared_ptr<IbvQueuePair>> broken;
  {
    std::lock_guard guard(lock);
    broken.swap(broken_);
  }
  for (const auto& each : broken) polling_.errors.kick(*each);
}

uint32_t IbvCompletionQueue::pollHardware(CompletionSlot* out, uint32_t max) {
  ibv_wc found[kPollChunk];
  uint32_t count = 0;
  while (cq_ && count < max) {
    const uint32_t wanted = std::min(max - count, kPollChunk);
    const int got = ibv_poll_cq(cq_, int(wanted), found);
    if (got <= 0) break;
    count += polling_.translator.translate(*this, found, uint32_t(got), out + count);
    if (uint32_t(got) < wanted) break;
  }
  return count;
}

void IbvCompletionQueue::absorb() {
  CompletionSlot found[kPollChunk];
  {
    std::lock_guard guard(lock);
    uint32_t got;
    do {
      got = pollHardware(found, kPollChunk);
      waiting_.insert(waiting_.end(), found, found + got);
    } while (got > 0);
  }
  kickBroken();
}

void IbvCompletionQueue::purge(uint32_t queuePair) {
  std::lock_guard guard(lock);
  if (lastHolder && lastHolder->number == queuePair) lastHolder.reset();
  std::erase_if(waiting_, [&](const CompletionSlot& each) { return each.queuePair == queuePair; });
}

void IbvCompletionQueue::reserve(uint32_t requests) {
  std::lock_guard guard(lock);
  makeRoom(requests);
}

void IbvCompletionQueue::reserveShared(uint32_t queue, uint32_t requests) {
  std::lock_guard guard(lock);
  if (!sharers_.contains(queue)) makeRoom(requests);
  ++sharers_[queue];
}

void IbvCompletionQueue::giveBackShared(uint32_t queue, uint32_t requests) {
  std::lock_guard guard(lock);
  if (--sharers_[queue] > 0) return;
  sharers_.erase(queue);
  reserved_ -= requests;
}

void IbvCompletionQueue::makeRoom(uint32_t requests) {
  if (failed_) {
    throw Failure("ERR_RDMC_COMPLETION_QUEUE_FAILED",
                  "The completion queue failed in the device: close it and make another one");
  }
  const uint64_t wanted = uint64_t(reserved_) + requests;
  const uint32_t limit = polling_.limits.maxCompletionQueueDepth;
  if (wanted > limit) {
    throw Failure("ERR_RDMC_DEVICE_LIMIT",
                  "The queue pairs of this completion queue could have " + std::to_string(wanted) +
                      " requests outstanding, and a completion queue of " + polling_.context.name() + " holds " +
                      std::to_string(limit) + ": use shallower queue pairs or several completion queues");
  }
  if (cq_ && wanted > uint64_t(cq_->cqe)) {
    const int larger = int(std::min<uint64_t>(limit, std::max<uint64_t>(wanted, 2 * uint64_t(cq_->cqe))));
    if (const int error = polling_.context.library().resize_cq(cq_, larger); error != 0) {
      throw Failure("ERR_RDMC_DEVICE_LIMIT",
                    "The queue pairs of this completion queue could have " + std::to_string(wanted) +
                        " requests outstanding, it holds " + std::to_string(cq_->cqe) + ", and " +
                        polling_.context.name() + " does not resize it: create it with that depth",
                    error, "ibv_resize_cq");
    }
  }
  reserved_ = uint32_t(wanted);
}

void IbvCompletionQueue::giveBack(uint32_t requests) {
  std::lock_guard guard(lock);
  reserved_ -= requests;
}

}  // namespace rdmc

#endif
