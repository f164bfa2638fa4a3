// Memory regions of an RDMA device, and completion channels and queues.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "ibv/device.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

constexpr uint32_t kRemoteAccess = kRemoteWrite | kRemoteRead | kRemoteAtomic;
constexpr uint32_t kCapIpcLock = 14;
// How long a driver may refuse to deregister memory whose queue pairs are all broken.
constexpr int kDeregisterTries = 100;
constexpr long kDeregisterPauseNs = 1'000'000;

// A field of /proc/self/status: kB as bytes, or a mask.
uint64_t statusField(const std::string& name, int base) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, name.size() + 1, name + ":") == 0) {
      const uint64_t value = std::stoull(line.substr(name.size() + 1), nullptr, base);
      return base == 10 ? value * 1024 : value;
    }
  }
  return 0;
}

bool memlockApplies(rlim_t& limit) {
  rlimit current{};
  if (::getrlimit(RLIMIT_MEMLOCK, &current) != 0 || current.rlim_cur == RLIM_INFINITY) return false;
  limit = current.rlim_cur;
  return (statusField("CapEff", 16) >> kCapIpcLock & 1) == 0;
}

uint32_t localAccess(uint32_t access) { return kLocalWrite | (access & kRelaxedOrdering); }

}  // namespace

// `times`: registrations that were still to be made. The kernel counts pages once for each.
Failure IbvDevice::registrationFailure(uint64_t length, uint32_t times, int error) const {
  rlim_t limit;
  if ((error == ENOMEM || error == EPERM || error == EAGAIN) && memlockApplies(limit)) {
    const uint64_t pinned = statusField("VmPin", 10);
    const uint64_t page = uint64_t(::sysconf(_SC_PAGESIZE));
    const uint64_t needed = pinned + times * ((length + page - 1) / page * page);
    return Failure("ERR_RDMC_MEMLOCK",
                   "Registering " + std::to_string(length) + " bytes" +
                       (times > 1 ? ", for local use and for peers," : "") + " needs a memlock limit of at least " +
                       std::to_string(needed) + " bytes; it is " + std::to_string(limit) + ", and " +
                       std::to_string(pinned) +
                       " are in use: raise it (ulimit -l unlimited; 'memlock' in "
                       "/etc/security/limits.conf; LimitMEMLOCK=infinity in a systemd unit)",
                   error, "ibv_reg_mr");
  }
  return refusal("ibv_reg_mr", "Registering " + std::to_string(length) + " bytes of memory", error);
}

uint32_t IbvDevice::createProtectionDomain() {
  std::shared_lock gate(gate_);
  checkOpen();
  ibv_pd* made = library_->alloc_pd(context_);
  if (!made) throw refusal("ibv_alloc_pd", "Allocating a protection domain", errno);
  std::lock_guard guard(objects_);
  pds_.push_back({made, 0});  // a number is used once, so that a stale one is seen
  return uint32_t(pds_.size() - 1);
}

ibv_pd* IbvDevice::pd(uint32_t index) {
  std::lock_guard guard(objects_);
  if (index >= pds_.size() || !pds_[index].pd) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_CLOSED", "The protection domain is closed");
  }
  return pds_[index].pd;
}

void IbvDevice::destroyProtectionDomain(uint32_t index) {
  std::shared_lock gate(gate_);
  std::lock_guard guard(objects_);
  if (index >= pds_.size() || !pds_[index].pd) return;
  // A region is in its table before it looks for the domain, which waits for this lock.
  if (const uint32_t users = regions_.count(index) + pds_[index].users; users > 0) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_BUSY",
                  std::to_string(users) + " regions or queues still use the protection domain: close them first");
  }
  if (const int error = library_->dealloc_pd(pds_[index].pd); error != 0) {
    throw refusal("ibv_dealloc_pd", "Giving a protection domain back", error);
  }
  pds_[index] = {};
}

ibv_mr* IbvDevice::registerMemory(ibv_pd* pd, void* address, uint64_t length, uint32_t access) {
  // Flags are numbered as in enum ibv_access_flags. The newer call leaves out what the kernel does not know of
  // the optional ones; an older library does not know them either.
  if ((access & kRelaxedOrdering) == 0) return library_->reg_mr(pd, address, length, int(access));
  if (library_->reg_mr_iova2) {
    return library_->reg_mr_iova2(pd, address, length, reinterpret_cast<uint64_t>(address), access);
  }
  return library_->reg_mr(pd, address, length, int(access & ~uint32_t(kRelaxedOrdering)));
}

void IbvDevice::registerKeys(uint32_t region, uint32_t pdIndex, uint64_t length, uint32_t access) {
  RegionKeys& keys = keysOf(region);
  auto* address = reinterpret_cast<void*>(regions_.at(region).address);
  ibv_pd* domain = pd(pdIndex);
  keys = {};
  keys.local = registerMemory(domain, address, length, localAccess(access));
  if (keys.local && (access & kRemoteAccess)) {
    keys.remote = registerMemory(domain, address, length, localAccess(access) | (access & kRemoteAccess));
  }
  if (!keys.local || ((access & kRemoteAccess) && !keys.remote)) {
    const uint32_t times = keys.local || !(access & kRemoteAccess) ? 1 : 2;
    Failure failure = registrationFailure(length, times, errno);  // it counts what is registered
    giveKeysBack(RegionTable::indexOf(region));
    throw Failure(std::move(failure));
  }
  keys.localKey = keys.local->lkey;
  keys.remoteKey = keys.remote ? keys.remote->rkey : 0;
}

uint32_t IbvDevice::allocateRegion(uint32_t pd, uint64_t length, uint32_t access) {
  std::shared_lock gate(gate_);
  checkOpen();
  const uint32_t handle = regions_.addExtent(pool_->allocate(length), length, access, pd);
  registerOrRemove(handle, pd, length, access);
  return handle;
}

uint32_t IbvDevice::registerRegion(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) {
  std::shared_lock gate(gate_);
  checkOpen();
  const uint32_t handle = regions_.addForeign(reinterpret_cast<uint64_t>(memory), length, access, pd);
  registerOrRemove(handle, pd, length, access);
  return handle;
}

void IbvDevice::registerOrRemove(uint32_t region, uint32_t pd, uint64_t length, uint32_t access) {
  try {
    registerKeys(region, pd, length, access);
  } catch (const Failure&) {
    regions_.retire(region);
    regions_.remove(RegionTable::indexOf(region));
    throw;
  }
}

uint32_t IbvDevice::registerDmabuf(uint32_t pdIndex, int fd, uint64_t offset, uint64_t length, uint32_t access) {
  std::shared_lock gate(gate_);
  checkOpen();
  if (!library_->reg_dmabuf_mr) {
    throw Failure("ERR_RDMC_UNSUPPORTED", library_->path + " has no ibv_reg_dmabuf_mr: install rdma-core 34 or later");
  }
  ibv_pd* domain = pd(pdIndex);
  // One registration for both uses, addressed by the offset within the dma-buf. The manual page does not say
  // whether a dma-buf may be registered twice.
  const int flags = int(localAccess(access) | (access & kRemoteAccess));
  ibv_mr* mr = library_->reg_dmabuf_mr(domain, offset, length, offset, fd, flags);
  if (!mr) {
    throw refusal("ibv_reg_dmabuf_mr", "Registering " + std::to_string(length) + " bytes of a dma-buf", errno);
  }
  uint32_t handle;
  try {
    handle = regions_.addForeign(offset, length, access, pdIndex, false);
  } catch (const Failure&) {
    library_->dereg_mr(mr);
    throw;
  }
  keysOf(handle) = {mr, nullptr, mr->lkey, mr->rkey};
  return handle;
}

uint32_t IbvDevice::remoteKey(uint32_t region) {
  regions_.at(region);
  return keysOf(region).remoteKey;
}

bool IbvDevice::remotelyReachable(uint32_t region) {
  regions_.at(region);
  return true;
}

// Either the registration is gone, or it is kept and this throws. With `registrations_` held.
void IbvDevice::deregister(ibv_mr*& mr, uint32_t pd) {
  if (!mr) return;
  int error = library_->dereg_mr(mr);
  if (error != 0) {
    // A driver may refuse while a peer's WRITE is in the middle, which a peer that died there never ends. The
    // region's peers reach it through queue pairs of its protection domain only.
    for (const auto& each : allQueuePairs()) {
      if (each->parameters.pd == pd) toError(*each);
    }
    const timespec pause{0, kDeregisterPauseNs};
    for (int i = 0; i < kDeregisterTries && (error = library_->dereg_mr(mr)) != 0; ++i) ::nanosleep(&pause, nullptr);
  }
  if (error != 0) {
    throw Failure("ERR_RDMC_REGION_BUSY",
                  options_.device + " does not give a memory region's registration back (" + errorText(error) +
                      "): peers may still write there, so the memory stays registered; close the region again later, "
                      "or the device",
                  error, "ibv_dereg_mr");
  }
  mr = nullptr;
}

void IbvDevice::giveKeysBack(uint32_t index) {
  std::lock_guard guard(registrations_);
  RegionKeys& keys = keys_[index];
  const uint32_t pd = regions_.domainOf(index);
  deregister(keys.remote, pd);
  deregister(keys.local, pd);
}

void IbvDevice::revokeRegion(uint32_t handle) {
  std::shared_lock gate(gate_);
  // Closing gives the registrations back under this lock before the slot has its next tenant: as long as the handle is
  // valid here, the keys in its slot are its own.
  std::lock_guard guard(registrations_);
  const Region& region = regions_.at(handle);
  regions_.hide(handle);
  if (!region.mappedHere && region.outstanding.load() > 0) {
    throw Failure("ERR_RDMC_REGION_BUSY", "Requests of this process still use the dma-buf: wait for them, then revoke");
  }
  if (region.mappedHere) return deregister(keysOf(handle).remote, region.protectionDomain);
  deregister(keysOf(handle).local, region.protectionDomain);
}

void IbvDevice::closeRegion(uint32_t handle) {
  std::shared_lock gate(gate_);
  regions_.retire(handle);
  const uint32_t index = RegionTable::indexOf(handle);
  Rollback valid([&] { regions_.restore(index); });
  giveKeysBack(index);
  valid.dismiss();
  regions_.remove(index);
}

// ---- channels and completion queues

int IbvDevice::createChannel() {
  std::shared_lock gate(gate_);
  checkOpen();
  auto made = std::make_shared<IbvChannel>(library_, context_);
  std::lock_guard guard(objects_);
  channels_.push_back(std::move(made));
  return int(channels_.size() - 1);
}

std::shared_ptr<IbvChannel> IbvDevice::ibvChannel(int id) {
  std::lock_guard guard(objects_);
  return channelHere(id);
}

std::shared_ptr<IbvChannel> IbvDevice::channelHere(int id) {
  if (id < 0 || size_t(id) >= channels_.size() || !channels_[size_t(id)]) {
    throw Failure("ERR_RDMC_CHANNEL_CLOSED", "The completion channel is closed");
  }
  return channels_[size_t(id)];
}

void IbvDevice::destroyChannel(int id) {
  std::shared_lock gate(gate_);
  std::shared_ptr<IbvChannel> found;
  {
    std::lock_guard guard(objects_);
    found = channelHere(id);
    if (found->users > 0) {
      throw Failure("ERR_RDMC_CHANNEL_BUSY", "Completion queues still use the channel: close them first");
    }
    channels_[size_t(id)].reset();
  }
  found->release();
}

uint32_t IbvDevice::createCompletionQueue(uint32_t depth, int channelId) {
  std::shared_lock gate(gate_);
  checkOpen();
  std::shared_ptr<IbvChannel> channel;
  if (channelId >= 0) {
    std::lock_guard guard(objects_);
    channel = channelHere(channelId);
    ++channel->users;
  }
  Rollback use([&] {
    if (channel) --channel->users;
  });
  auto made = std::make_shared<IbvCompletionQueue>(*this, depth, channel);
  use.dismiss();
  std::lock_guard guard(objects_);
  cqs_.push_back(std::move(made));  // a number is used once, so that a stale one is seen
  return uint32_t(cqs_.size() - 1);
}

std::shared_ptr<IbvCompletionQueue> IbvDevice::cqAt(uint32_t index) {
  std::lock_guard guard(objects_);
  return queueHere(index);
}

std::shared_ptr<IbvCompletionQueue> IbvDevice::queueHere(uint32_t index) {
  if (index >= cqs_.size() || !cqs_[index]) {
    throw Failure("ERR_RDMC_COMPLETION_QUEUE_CLOSED", "The completion queue is closed");
  }
  return cqs_[index];
}

void IbvDevice::destroyCompletionQueue(uint32_t index) {
  std::shared_lock gate(gate_);
  std::shared_ptr<IbvCompletionQueue> queue;
  {
    std::lock_guard guard(objects_);
    queue = queueHere(index);
    if (queue->users > 0) {
      throw Failure("ERR_RDMC_COMPLETION_QUEUE_BUSY", "Queue pairs still use the completion queue: close them first");
    }
    cqs_[index].reset();
  }
  queue->release();
}

}  // namespace rdmc

#endif
