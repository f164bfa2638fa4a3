// Where a request's next bytes lie in the target's memory, and whether the target still allows them there.
#include "core/failure.h"
#include "soft/shm/wire.h"

namespace rdmc {

bool ShmWire::RegionFacts::permits(uint64_t from, uint64_t bytes, uint32_t rights, uint32_t pd) const {
  return (access & rights) == rights && protectionDomain == pd && from >= address && bytes <= length &&
         from - address <= length - bytes;
}

bool ShmWire::lookUp(uint32_t key, RegionFacts& facts) const {
  const SharedRegion& region = link_->control().region(key & (kMaxRegions - 1));
  if (key == 0 || region.key.load(std::memory_order_acquire) != key) return false;
  facts = {region.access.load(std::memory_order_relaxed), readOnce(region.protectionDomain), readOnce(region.arena),
           readOnce(region.address), readOnce(region.length)};
  return true;
}

ShmWire::Step ShmWire::resolve(uint32_t key, uint64_t address, uint64_t length, uint64_t remaining, uint32_t access) {
  const uint32_t index = key & (kMaxRegions - 1);
  const SharedRegion& region = link_->control().region(index);
  RegionFacts facts;
  if (!lookUp(key, facts) || !facts.permits(address, remaining, access, theirDomain_)) {
    return fail(kRemoteAccessError, true);
  }
  const uint32_t arenaId = facts.arena;
  const uint64_t offset = address - facts.address;
  // The offset belongs to the arena: it is read after the arena, and after the check whether both are being changed.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (region.moving.load(std::memory_order_acquire)) return Step::kRetry;
  const uint64_t arenaOffset = readOnce(region.arenaOffset);
  if (!arena_ || arena_->id != arenaId || arenaEpoch_ != link_->arenaEpoch()) {
    arenaEpoch_ = link_->arenaEpoch();
    arena_ = link_->arena(arenaId);
    if (!arena_) {
      link_->requestArena(arenaId);
      // The peer's service thread hands it out, unless the peer is stopped.
      miss(Missing::kMemory);
      const bool overdue = expired(retryTimeoutMs_);
      return link_->alive() && !overdue ? Step::kBlocked : fail(kRetryExceeded, false);
    }
  }
  // The offset in the file comes from the peer, and must be checked against the size of the file.
  const uint64_t size = arena_->memory.length();
  if (arenaOffset > size || offset > size - arenaOffset || length > size - arenaOffset - offset) {
    return fail(kRemoteOperationError, true);
  }
  const uint64_t at = arenaOffset + offset;
  try {
    if (length > 0) arena_->prepare(at, length);
  } catch (const Failure&) {
    return fail(kLocalQpOperationError, false);  // the pages cannot be allocated here
  }
  window_ = {arena_->memory.data() + at, index, access};
  return Step::kCopied;
}

bool ShmWire::stillValid(uint32_t key) const {
  const SharedRegion& region = link_->control().region(window_.regionIndex);
  const uint32_t rights = region.access.load(std::memory_order_seq_cst);
  return region.key.load(std::memory_order_seq_cst) == key && (rights & window_.rights) == window_.rights &&
         region.moving.load(std::memory_order_seq_cst) == 0 && readOnce(region.arena) == arena_->id;
}

bool ShmWire::landed(uint32_t key) const {
  // The bytes are stored before the check whether the memory was moved or revoked meanwhile: an initiator that is
  // stopped in the middle of a copy continues in abandoned memory, and must not report success.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return stillValid(key) && connected();
}

}  // namespace rdmc
