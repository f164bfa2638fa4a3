// Shared receive queues of an RDMA device.
#include <cerrno>

#include "ibv/device.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

uint32_t IbvDevice::createSharedReceiveQueue(uint32_t pdIndex, uint32_t depth) {
  std::shared_lock gate(gate_);
  checkOpen();
  if (depth == 0 || depth > limits_.maxSharedReceiveDepth) {
    throw Failure("ERR_RDMC_DEVICE_LIMIT", "A shared receive queue of " + options_.device + " holds 1 to " +
                                               std::to_string(limits_.maxSharedReceiveDepth) + " requests, not " +
                                               std::to_string(depth));
  }
  ibv_srq_init_attr initial{};
  initial.attr.max_wr = depth;
  initial.attr.max_sge = limits_.maxSge;
  std::lock_guard guard(objects_);
  if (pdIndex >= pds_.size() || !pds_[pdIndex].pd) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_CLOSED", "The protection domain is closed");
  }
  ibv_srq* made = library_->create_srq(pds_[pdIndex].pd, &initial);
  if (!made) {
    throw refusal("ibv_create_srq", "Creating a shared receive queue of " + std::to_string(depth) + " requests", errno);
  }
  ++pds_[pdIndex].users;
  const uint32_t number = kSharedNumber | uint32_t(shared_.size());
  shared_.push_back(std::make_shared<IbvSharedReceiveQueue>(number, pdIndex, depth));
  shared_.back()->srq = made;
  return number;
}

std::shared_ptr<IbvSharedReceiveQueue> IbvDevice::findShared(uint32_t number) {
  std::lock_guard guard(objects_);
  const uint32_t index = number & ~kSharedNumber;
  return (number & kSharedNumber) && index < shared_.size() ? shared_[index] : nullptr;
}

std::shared_ptr<IbvSharedReceiveQueue> IbvDevice::sharedHere(uint32_t number) {
  const uint32_t index = number & ~kSharedNumber;
  if (!(number & kSharedNumber) || index >= shared_.size() || !shared_[index]) {
    throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The shared receive queue is closed");
  }
  return shared_[index];
}

void IbvDevice::destroySharedReceiveQueue(uint32_t number) {
  std::shared_lock gate(gate_);
  std::shared_ptr<IbvSharedReceiveQueue> found;
  {
    std::lock_guard guard(objects_);
    found = sharedHere(number);
    if (found->users > 0) {
      throw Failure("ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY",
                    "Queue pairs still use the shared receive queue: close them first");
    }
    shared_[number & ~kSharedNumber].reset();
  }
  {
    std::lock_guard guard(found->lock);
    if (ibv_srq* mine = std::exchange(found->srq, nullptr)) library_->destroy_srq(mine);
    found->dropAll();
  }
  std::lock_guard guard(objects_);
  --pds_[found->pd].users;
}

}  // namespace rdmc

#endif
