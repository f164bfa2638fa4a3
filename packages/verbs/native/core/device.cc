#include "core/device.h"

#include <sys/epoll.h>

namespace rdmc {
namespace {

[[noreturn]] void unsupported(const Device& device, const std::string& what) {
  throw Failure("ERR_RDMC_UNSUPPORTED", "The device " + device.describe().name + " has no " + what);
}

}  // namespace

void Channel::wait(int timeoutMs) {
  waiting_.store(true);  // before `ended_` is read: this thread sees that it ended, or `end` sees this thread
  // The epoll itself, not `poll` of its descriptor: an event then passes one queue of waiters, not two.
  epoll_event ready{};
  if (!ended_.load() && ::epoll_wait(fd(), &ready, 1, timeoutMs) > 0) take();
  waiting_.store(false);
}

void Channel::end() {
  ended_.store(true);
  if (waiting_.load()) signal();
}

void Device::populateRegion(uint32_t region) {
  if (const auto extent = regions().extent(RegionTable::indexOf(regions().at(region).key.load()))) {
    ArenaPool::populate(*extent);
  }
}

uint32_t Device::allocateWithoutHostAccess(uint32_t, uint64_t, uint32_t) {
  unsupported(*this, "memory of its own without host access: register memory of another device by its dma-buf");
}

uint32_t Device::registerDmabuf(uint32_t, int, uint64_t, uint64_t, uint32_t) {
  unsupported(*this, "registration of dma-bufs: only RDMA hardware can reach another device's memory");
}

uint32_t Device::createSharedReceiveQueue(uint32_t, uint32_t) {
  unsupported(*this, "shared receive queues: give each queue pair a receive queue of its own");
}

void Device::tearWrites(uint64_t, bool) {
  unsupported(*this, "way to tear writes: that is for tests, on the soft device");
}

void Device::destroySharedReceiveQueue(uint32_t) {
  throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The shared receive queue is closed");
}

}  // namespace rdmc
