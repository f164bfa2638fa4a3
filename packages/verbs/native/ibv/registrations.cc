#include "ibv/registrations.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <shared_mutex>

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

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
Failure IbvRegistrations::failureOf(uint64_t length, uint32_t times, int error) const {
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
  return context_.refusal("ibv_reg_mr", "Registering " + std::to_string(length) + " bytes of memory", error);
}

ibv_mr* IbvRegistrations::registerWith(ibv_pd* pd, void* address, uint64_t length, uint32_t access) {
  // Flags are numbered as in enum ibv_access_flags. The newer call leaves out what the kernel does not know of
  // the optional ones; an older library does not know them either.
  if ((access & kRelaxedOrdering) == 0) return context_.library().reg_mr(pd, address, length, int(access));
  if (context_.library().reg_mr_iova2) {
    return context_.library().reg_mr_iova2(pd, address, length, reinterpret_cast<uint64_t>(address), access);
  }
  return context_.library().reg_mr(pd, address, length, int(access & ~uint32_t(kRelaxedOrdering)));
}

void IbvRegistrations::registerKeys(uint32_t region, uint32_t pdIndex, uint64_t length, uint32_t access) {
  RegionKeys& keys = keysOf(region);
  auto* address = reinterpret_cast<void*>(regions_.at(region).address);
  ibv_pd* domain = domains_.at(pdIndex);
  keys = {};
  keys.local = registerWith(domain, address, length, localAccess(access));
  if (keys.local && (access & kRemoteAccess)) {
    keys.remote = registerWith(domain, address, length, localAccess(access) | (access & kRemoteAccess));
  }
  if (!keys.local || ((access & kRemoteAccess) && !keys.remote)) {
    const uint32_t times = keys.local || !(access & kRemoteAccess) ? 1 : 2;
    Failure failure = failureOf(length, times, errno);  // it counts what is registered
    giveKeysBack(RegionTable::indexOf(region));
    throw Failure(std::move(failure));
  }
  keys.localKey = keys.local->lkey;
  keys.remoteKey = keys.remote ? keys.remote->rkey : 0;
}

uint32_t IbvRegistrations::allocate(uint32_t pd, uint64_t length, uint32_t access) {
  std::shared_lock gate(context_.gate);
  context_.checkOpen();
  auto extent = pool_->allocate(length);
  ArenaPool::populate(*extent);
  const uint32_t handle = regions_.addExtent(std::move(extent), length, access, pd);
  registerOrRemove(handle, pd, length, access);
  return handle;
}

uint32_t IbvRegistrations::registerMemory(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) {
  std::shared_lock gate(context_.gate);
  context_.checkOpen();
  const uint32_t handle = regions_.addForeign(reinterpret_cast<uint64_t>(memory), length, access, pd);
  registerOrRemove(handle, pd, length, access);
  return handle;
}

void IbvRegistrations::registerOrRemove(uint32_t region, uint32_t pd, uint64_t length, uint32_t access) {
  try {
    registerKeys(region, pd, length, access);
  } catch (const Failure&) {
    regions_.retire(region);
    regions_.remove(RegionTable::indexOf(region));
    throw;
  }
}

uint32_t IbvRegistrations::registerDmabuf(uint32_t pdIndex, int fd, uint64_t offset, uint64_t length, uint32_t access) {
  std::shared_lock gate(context_.gate);
  context_.checkOpen();
  if (!context_.library().reg_dmabuf_mr) {
    throw Failure("ERR_RDMC_UNSUPPORTED",
                  context_.library().path + " has no ibv_reg_dmabuf_mr: install rdma-core 34 or later");
  }
  ibv_pd* domain = domains_.at(pdIndex);
  // One registration for both uses, addressed by the offset within the dma-buf. The manual page does not say
  // whether a dma-buf may be registered twice.
  const int flags = int(localAccess(access) | (access & kRemoteAccess));
  ibv_mr* mr = context_.library().reg_dmabuf_mr(domain, offset, length, offset, fd, flags);
  if (!mr) {
    throw context_.refusal("ibv_reg_dmabuf_mr", "Registering " + std::to_string(length) + " bytes of a dma-buf", errno);
  }
  uint32_t handle;
  try {
    handle = regions_.addForeign(offset, length, access, pdIndex, false);
  } catch (const Failure&) {
    context_.library().dereg_mr(mr);
    throw;
  }
  keysOf(handle) = {mr, nullptr, mr->lkey, mr->rkey};
  return handle;
}

uint32_t IbvRegistrations::remoteKey(uint32_t region) {
  regions_.at(region);
  return keysOf(region).remoteKey;
}

// Either the registration is removed, or it is kept and this throws. With `lock_` held.
void IbvRegistrations::deregister(ibv_mr*& mr, uint32_t pd) {
  if (!mr) return;
  int error = context_.library().dereg_mr(mr);
  if (error != 0) {
    // A driver may refuse in the middle of a peer's WRITE, which never ends if the peer died there. Peers reach the
    // region through queue pairs of its protection domain, or with a shared receive queue of it, only.
    errors_.breakDomain(pd);
    const timespec pause{0, kDeregisterPauseNs};
    for (int i = 0; i < kDeregisterTries && (error = context_.library().dereg_mr(mr)) != 0; ++i)
      ::nanosleep(&pause, nullptr);
  }
  if (error != 0) {
    throw Failure("ERR_RDMC_REGION_BUSY",
                  context_.name() + " does not give a memory region's registration back (" + errorText(error) +
                      "): peers may still write there, so the memory stays registered; close the region again later, "
                      "or the device",
                  error, "ibv_dereg_mr");
  }
  mr = nullptr;
}

void IbvRegistrations::giveKeysBack(uint32_t index) {
  std::lock_guard guard(lock_);
  RegionKeys& keys = keys_[index];
  const uint32_t pd = regions_.domainOf(index);
  deregister(keys.remote, pd);
  deregister(keys.local, pd);
}

void IbvRegistrations::revoke(uint32_t handle) {
  std::shared_lock gate(context_.gate);
  // Closing removes the registrations under this lock before the slot is reused: as long as the handle is valid here,
  // the keys in its slot are its own.
  std::lock_guard guard(lock_);
  const Region& region = regions_.at(handle);
  regions_.revoke(handle);
  if (!region.hostAccess && region.outstanding.load() > 0) {
    throw Failure("ERR_RDMC_REGION_BUSY", "Requests of this process still use the dma-buf: wait for them, then revoke");
  }
  if (region.hostAccess) return deregister(keysOf(handle).remote, region.protectionDomain);
  deregister(keysOf(handle).local, region.protectionDomain);
}

void IbvRegistrations::close(uint32_t handle) {
  std::shared_lock gate(context_.gate);
  regions_.retire(handle);
  const uint32_t index = RegionTable::indexOf(handle);
  Rollback valid([&] { regions_.restore(index); });
  giveKeysBack(index);
  valid.dismiss();
  regions_.remove(index);
}

void IbvRegistrations::takeBack(uint32_t index) {
  std::shared_lock gate(context_.gate);
  giveKeysBack(index);
  regions_.remove(index);
}

void IbvRegistrations::release() {
  std::lock_guard guard(lock_);
  const IbvLibrary& library = context_.library();
  for (uint32_t i = 0; i < kMaxRegions; ++i) {
    if (ibv_mr* mine = std::exchange(keys_[i].remote, nullptr)) library.dereg_mr(mine);
    if (ibv_mr* mine = std::exchange(keys_[i].local, nullptr)) library.dereg_mr(mine);
  }
}

}  // namespace rdmc

#endif
