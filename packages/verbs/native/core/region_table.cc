#include "core/region_table.h"

#include <sys/random.h>
#include <time.h>

#include <cerrno>
#include <string>

#include "core/failure.h"

namespace rdmc {
namespace {
constexpr uint32_t kGenerations = (1u << (32 - kRegionIndexBits)) - 2;
constexpr uint32_t kRetired = 0xffffffff;  // neither free nor valid: no key has this generation
constexpr long kNapNs = 20'000;

void napForOthers() {
  const timespec time{0, kNapNs};
  ::nanosleep(&time, nullptr);
}

uint32_t keyOf(uint32_t index, const Region& region) { return index | region.generation << kRegionIndexBits; }
}  // namespace

RegionTable::RegionTable(RegionDirectory* directory)
    : directory_(directory), regions_(std::make_unique<Region[]>(kMaxRegions)) {
  // Generations begin at a random number, so that a key of one device is hardly valid on another.
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != ssize_t(sizeof random)) {
    throw systemFailure("getrandom", "Numbering memory regions", errno);
  }
  const uint32_t first = random % kGenerations;
  for (uint32_t i = 0; i < kMaxRegions; ++i) regions_[i].generation = first;
}

uint32_t RegionTable::take() {
  for (uint32_t step = 0; step < kMaxRegions; ++step) {
    const uint32_t index = (hint_ + step) % kMaxRegions;
    if (index == 0 || regions_[index].key.load() != 0) continue;
    if (regions_[index].outstanding.load() != 0) continue;  // of an evicted region
    hint_ = index + 1;
    Region& region = regions_[index];
    region.generation = region.generation % kGenerations + 1;
    region.revoked = false;
    highest_ = std::max(highest_, index);
    return index;
  }
  throw Failure("ERR_RDMC_DEVICE_LIMIT", "The device holds " + std::to_string(kMaxRegions - 1) +
                                             " memory regions already: close some, or use larger ones");
}

uint32_t RegionTable::addExtent(std::shared_ptr<Extent> extent, uint64_t length, uint32_t access, uint32_t pd,
                                Mapping inaccessible) {
  std::lock_guard guard(mutex_);
  const uint32_t index = take();
  Region& region = regions_[index];
  const auto memory = reinterpret_cast<uint64_t>(extent->data());
  region.hostAccess = inaccessible.data() == nullptr;
  region.address = region.hostAccess ? memory : reinterpret_cast<uint64_t>(inaccessible.data());
  region.toDevice = memory - region.address;
  region.inaccessible = std::move(inaccessible);
  region.extent = std::move(extent);
  region.length = length;
  region.access = access;
  region.protectionDomain = pd;
  region.shareable = true;
  return publish(index);
}

uint32_t RegionTable::addForeign(uint64_t address, uint64_t length, uint32_t access, uint32_t pd, bool hostAccess) {
  std::lock_guard guard(mutex_);
  const uint32_t index = take();
  Region& region = regions_[index];
  region.address = address;
  region.length = length;
  region.access = access;
  region.protectionDomain = pd;
  region.shareable = false;
  region.hostAccess = hostAccess;
  region.toDevice = 0;
  const uint32_t key = keyOf(index, region);
  region.key.store(key);
  return key;
}

uint32_t RegionTable::publish(uint32_t index) {
  Region& region = regions_[index];
  const uint32_t key = keyOf(index, region);
  region.key.store(key, std::memory_order_seq_cst);
  if (directory_) directory_->publish(index, region);
  return key;
}

Region& RegionTable::at(uint32_t handle) {
  Region& region = regions_[indexOf(handle)];
  if (handle == 0 || handle == kRetired || region.key.load() != handle) {
    throw Failure("ERR_RDMC_REGION_CLOSED", "The memory region is closed");
  }
  return region;
}

Region* RegionTable::acquire(uint32_t key) {
  Region& region = regions_[key & (kMaxRegions - 1)];
  region.outstanding.fetch_add(1, std::memory_order_seq_cst);
  if (key != 0 && key != kRetired && region.key.load(std::memory_order_seq_cst) == key) return &region;
  drop(&region);
  return nullptr;
}

void RegionTable::letGo(uint32_t handle) {
  std::lock_guard guard(mutex_);
  const uint32_t index = indexOf(handle);
  Region& region = regions_[index];
  if (handle == 0 || keyOf(index, region) != handle || region.outstanding.load() == 0) {
    throw Failure("ERR_RDMC_REGION_CLOSED", "The memory region is closed");
  }
  drop(&region);
}

void RegionTable::revoke(uint32_t handle) {
  std::lock_guard guard(mutex_);
  Region& region = at(handle);
  region.revoked.store(true, std::memory_order_seq_cst);
  if (directory_) directory_->revoke(indexOf(handle), region);
}

void RegionTable::hideRetired(uint32_t index) {
  std::lock_guard guard(mutex_);
  regions_[index].revoked.store(true, std::memory_order_seq_cst);
  if (directory_) directory_->withdraw(index);
}

void RegionTable::retire(uint32_t handle) {
  std::lock_guard guard(mutex_);
  Region& region = at(handle);
  uint32_t outstanding = region.outstanding.load(std::memory_order_seq_cst);
  if (outstanding == 0) {
    const uint32_t key = region.key.exchange(kRetired, std::memory_order_seq_cst);
    outstanding = region.outstanding.load(std::memory_order_seq_cst);
    if (outstanding == 0) return;
    region.key.store(key, std::memory_order_seq_cst);  // a request came in between
  }
  throw Failure("ERR_RDMC_REGION_BUSY", "The region is used by " + std::to_string(outstanding) +
                                            " outstanding work requests: wait for their completions, or close "
                                            "their queue pairs");
}

bool RegionTable::evict(uint32_t handle) {
  for (;; napForOthers()) {
    if (const Eviction result = tryEvict(handle); result != Eviction::kLater) {
      while (result == Eviction::kDone && regions_[indexOf(handle)].copies.load() > 0) napForOthers();
      return result == Eviction::kDone;
    }
  }
}

RegionTable::Eviction RegionTable::tryEvict(uint32_t handle) {
  std::lock_guard guard(mutex_);
  const uint32_t index = indexOf(handle);
  Region& region = regions_[index];
  if (handle == 0 || keyOf(index, region) != handle || region.key.load() == 0) return Eviction::kClosed;
  if (region.key.load() == kRetired) return Eviction::kLater;
  region.key.store(kRetired, std::memory_order_seq_cst);
  return Eviction::kDone;
}

void RegionTable::restore(uint32_t index) {
  std::lock_guard guard(mutex_);
  Region& region = regions_[index];
  if (region.key.load() == kRetired) region.key.store(keyOf(index, region));
}

void RegionTable::remove(uint32_t index) {
  std::shared_ptr<Extent> extent;  // goes back to its pool outside the lock
  Mapping inaccessible;
  std::lock_guard guard(mutex_);
  extent = std::move(regions_[index].extent);
  inaccessible = std::exchange(regions_[index].inaccessible, {});
  regions_[index].key.store(0);
  hint_ = std::max(1u, std::min(hint_, index));
}

std::shared_ptr<Extent> RegionTable::extent(uint32_t index) {
  std::lock_guard guard(mutex_);
  return index < kMaxRegions ? regions_[index].extent : nullptr;
}

std::pair<std::shared_ptr<Extent>, uint64_t> RegionTable::memoryOf(uint32_t handle) {
  std::lock_guard guard(mutex_);
  const Region& region = at(handle);
  if (!region.hostAccess) {
    throw Failure("ERR_RDMC_NO_HOST_ACCESS",
                  "The program cannot read or write this memory: only the device, and peers, can");
  }
  return {region.extent, region.length};
}

uint8_t* RegionTable::deviceMemory(uint32_t key, uint64_t address) const {
  const Region& region = regions_[indexOf(key)];
  if (key == 0 || key == kRetired || region.key.load(std::memory_order_seq_cst) != key) return nullptr;
  return region.deviceMemory(address);
}

Region* RegionTable::beginCopy(uint64_t address, uint64_t length) {
  std::lock_guard guard(mutex_);
  for (uint32_t i = 1; i <= highest_; ++i) {
    Region& region = regions_[i];
    const uint32_t key = region.key.load();
    if (key == 0 || key == kRetired || !region.hostAccess || address < region.address) continue;
    if (length > region.length || address - region.address > region.length - length) continue;
    region.outstanding.fetch_add(1, std::memory_order_seq_cst);
    region.copies.fetch_add(1, std::memory_order_seq_cst);
    return &region;
  }
  return nullptr;
}

void RegionTable::endCopy(Region* region) {
  region->copies.fetch_sub(1, std::memory_order_seq_cst);
  drop(region);
}

uint32_t RegionTable::count(uint32_t pd) {
  std::lock_guard guard(mutex_);
  uint32_t found = 0;
  for (uint32_t i = 1; i <= highest_; ++i) {
    if (regions_[i].key.load() != 0 && regions_[i].protectionDomain == pd) ++found;
  }
  return found;
}

}  // namespace rdmc
