#include "ibv/shared_receive_queues.h"

#if RDMC_WITH_IBVERBS

#include <cerrno>
#include <shared_mutex>
#include <string>
#include <utility>

namespace rdmc {

uint32_t IbvSharedReceiveQueues::create(uint32_t pd, uint32_t depth) {
  std::shared_lock gate(context_.gate);
  context_.checkOpen();
  if (depth == 0 || depth > limits_.maxSharedReceiveDepth) {
    throw Failure("ERR_RDMC_DEVICE_LIMIT", "A shared receive queue of " + context_.name() + " holds 1 to " +
                                               std::to_string(limits_.maxSharedReceiveDepth) + " requests, not " +
                                               std::to_string(depth));
  }
  ibv_srq_init_attr initial{};
  initial.attr.max_wr = depth;
  initial.attr.max_sge = limits_.maxSge;
  ibv_pd* domain = domains_.use(pd);
  Rollback use([&] { domains_.leave(pd); });
  ibv_srq* made = context_.library().create_srq(domain, &initial);
  if (!made) {
    throw context_.refusal("ibv_create_srq",
                           "Creating a shared receive queue of " + std::to_string(depth) + " requests", errno);
  }
  std::lock_guard guard(lock_);
  const uint32_t number = kSharedNumber | uint32_t(queues_.size());
  queues_.push_back(std::make_shared<IbvSharedReceiveQueue>(number, pd, depth));
  queues_.back()->srq = made;
  use.dismiss();
  return number;
}

std::shared_ptr<IbvSharedReceiveQueue> IbvSharedReceiveQueues::find(uint32_t number) {
  std::lock_guard guard(lock_);
  const uint32_t index = number & ~kSharedNumber;
  return (number & kSharedNumber) && index < queues_.size() ? queues_[index] : nullptr;
}

std::shared_ptr<IbvSharedReceiveQueue>& IbvSharedReceiveQueues::here(uint32_t number) {
  const uint32_t index = number & ~kSharedNumber;
  if (!(number & kSharedNumber) || index >= queues_.size() || !queues_[index]) {
    throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The shared receive queue is closed");
  }
  return queues_[index];
}

std::shared_ptr<IbvSharedReceiveQueue> IbvSharedReceiveQueues::use(uint32_t number) {
  std::lock_guard guard(lock_);
  const auto& found = here(number);
  ++found->users;
  return found;
}

void IbvSharedReceiveQueues::leave(IbvSharedReceiveQueue& queue) {
  std::lock_guard guard(lock_);
  --queue.users;
}

void IbvSharedReceiveQueues::awaitPosters() {
  std::vector<std::shared_ptr<IbvSharedReceiveQueue>> all;
  {
    std::lock_guard guard(lock_);
    all = queues_;
  }
  for (const auto& each : all) {
    if (each) std::lock_guard posted(each->lock);
  }
}

void IbvSharedReceiveQueues::giveBack(IbvSharedReceiveQueue& queue) {
  std::lock_guard guard(queue.lock);
  if (ibv_srq* mine = std::exchange(queue.srq, nullptr)) context_.library().destroy_srq(mine);
  queue.dropAll();
}

void IbvSharedReceiveQueues::destroy(uint32_t number) {
  std::shared_lock gate(context_.gate);
  std::shared_ptr<IbvSharedReceiveQueue> found;
  {
    std::lock_guard guard(lock_);
    auto& mine = here(number);
    if (mine->users > 0) {
      throw Failure("ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY",
                    "Queue pairs still use the shared receive queue: close them first");
    }
    found = std::move(mine);
  }
  giveBack(*found);
  domains_.leave(found->pd);
}

void IbvSharedReceiveQueues::release() {
  // The gate is held, so none is created or destroyed now, and pollers use `lock_`: so it is not held.
  for (const auto& queue : queues_) {
    if (queue) giveBack(*queue);
  }
}

}  // namespace rdmc

#endif
