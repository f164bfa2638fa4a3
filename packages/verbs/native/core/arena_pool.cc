#include "core/arena_pool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/failure.h"
#include "core/sealed_memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace rdmc {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMovedAtOnce = 64 << 10;

size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void mapFixed(uint8_t* at, size_t length, int fd, size_t offset) {
  void* placed = ::mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, off_t(offset));
  if (placed == MAP_FAILED) throw systemFailure("mmap", "Giving a region fresh memory", errno);
}

// Carries what was stored into `old` after `copied` was taken of it to `now`, where nothing was stored since.
void carryStores(const uint64_t* copied, const uint64_t* old, uint64_t* now, size_t words) {
  for (size_t i = 0; i < words; ++i) {
    const uint64_t before = copied[i], stored = __atomic_load_n(old + i, __ATOMIC_RELAXED);
    if (stored == before) continue;
    uint64_t current = __atomic_load_n(now + i, __ATOMIC_RELAXED);
    for (;;) {
      uint64_t merged = current;
      for (int shift = 0; shift < 64; shift += 8) {
        const uint64_t byte = uint64_t(0xff) << shift;
        if (((stored ^ before) & byte) != 0 && ((current ^ before) & byte) == 0)
          merged = (merged & ~byte) | (stored & byte);
      }
      if (__atomic_compare_exchange_n(now + i, &current, merged, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) break;
    }
  }
}

// Puts fresh memory under an extent's address while threads of this process store there: piece by piece, so that
// little time passes between copy and change of the mapping, and with another look at the old memory behind it, so
// that a store in that time is not lost. (Not kept: the order of stores to one byte when two fall into that time and
// the second restores the byte's former value, and an atomic addition before the change if another follows it at once.
// To keep these, the writers would have to be stopped by userfaultfd, which most kernels refuse to ordinary users.)
// `old` shows the extent's present memory at another address.
void moveUnderWriters(Extent& extent, const uint8_t* old, const Arena& fresh) {
  std::vector<uint64_t> copied(kMovedAtOnce / sizeof(uint64_t));
  while (extent.moved < extent.length) {
    const size_t at = extent.moved;
    const size_t length = std::min(kMovedAtOnce, extent.length - at);
    uint8_t* const place = extent.data() + at;
    std::memcpy(copied.data(), place, length);
    std::memcpy(fresh.memory.data() + at, copied.data(), length);
    mapFixed(place, length, fresh.fd.get(), at);
    extent.abandoned = true;
    extent.moved += length;
    carryStores(copied.data(), reinterpret_cast<const uint64_t*>(old + at), reinterpret_cast<uint64_t*>(place),
                length / sizeof(uint64_t));
  }
}

}  // namespace

void populateRange(uint8_t* base, size_t length) {
  if (::madvise(base, length, MADV_POPULATE_WRITE) == 0) return;
  if (errno == ENOMEM || errno == EFAULT) throw systemFailure("madvise", "Faulting in memory", errno);
  // An atomic addition of zero touches a page without disturbing what others write into it.
  for (size_t at = 0; at < length; at += kPage) __atomic_fetch_add(base + at, 0, __ATOMIC_RELAXED);
}

Mapping mapArena(int fd, size_t length) {
  if (void* shared = sharedMapping(fd)) return Mapping(shared, length);
  // Reserve one chunk more, so that the mapping can begin at a multiple of a chunk.
  void* reserved = ::mmap(nullptr, length + kChunkBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw systemFailure("mmap", "Reserving addresses for an arena", errno);
  auto start = reinterpret_cast<uintptr_t>(reserved);
  const uintptr_t aligned = roundUp(start, kChunkBytes);
  if (aligned > start) ::munmap(reserved, aligned - start);
  const uintptr_t tail = aligned + length;
  ::munmap(reinterpret_cast<void*>(tail), start + length + kChunkBytes - tail);
  void* base = ::mmap(reinterpret_cast<void*>(aligned), length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (base == MAP_FAILED) {
    const int err = errno;
    ::munmap(reinterpret_cast<void*>(aligned), length);
    throw systemFailure("mmap", "Mapping an arena", err);
  }
  ::madvise(base, length, MADV_HUGEPAGE);
  ::madvise(base, length, MADV_DONTFORK);
  shareMapping(fd, base);
  return Mapping(base, length);
}

Mapping mapInaccessible(const Extent& extent) {
  const int fd = extent.arena->fd.get();
  void* base = ::mmap(nullptr, extent.length, PROT_NONE, MAP_SHARED, fd, off_t(extent.offset));
  if (base == MAP_FAILED) throw systemFailure("mmap", "Mapping memory without access", errno);
  ::madvise(base, extent.length, MADV_DONTFORK);
  return Mapping(base, extent.length);
}

Extent::~Extent() {
  try {
    pool->release(*this);
  } catch (const std::exception&) {
    // There is not enough memory to note that the room is free: the room is lost, and the process continues.
  }
}

std::shared_ptr<Arena> ArenaPool::createArena(size_t length, bool shared) {
  auto arena = std::make_shared<Arena>();
  arena->fd = createSealedMemory("rdmc-arena", length);
  arena->memory = mapArena(arena->fd.get(), length);
  arena->shared = shared;
  arena->free[0] = length;
  arena->freeBytes = length;
  arena->populated = std::make_unique<std::atomic<bool>[]>(length / kChunkBytes);
  arena->id = nextId_++;
  arenas_[arena->id] = arena;
  return arena;
}

std::shared_ptr<Extent> ArenaPool::carve(size_t length, bool late) {
  const bool own = length >= kOwnArenaFrom;
  const size_t need = roundUp(length, own ? kChunkBytes : kPage);
  std::shared_ptr<Arena> chosen;
  if (own) {
    // The smallest idle arena that is at most a quarter too large.
    for (uint32_t id : idle_) {
      const auto& arena = arenas_[id];
      const size_t size = arena->memory.length();
      if (size >= need && size <= need + need / 4 && (!chosen || size < chosen->memory.length())) chosen = arena;
    }
    if (chosen) {
      idle_.remove(chosen->id);
    } else {
      chosen = createArena(need, false);
    }
    chosen->free.clear();
    chosen->freeBytes = 0;
    return std::make_shared<Extent>(shared_from_this(), chosen, 0, need);
  }
  for (auto& [id, arena] : arenas_) {
    if (!arena->shared || arena->late != late || arena->freeBytes < need) continue;
    for (auto& [offset, size] : arena->free) {
      if (size >= need) {
        chosen = arena;
        break;
      }
    }
    if (chosen) break;
  }
  if (!chosen) {
    chosen = createArena(kSharedArenaBytes, true);
    chosen->late = late;
  }
  for (auto it = chosen->free.begin(); it != chosen->free.end(); ++it) {
    if (it->second < need) continue;
    const size_t offset = it->first;
    const size_t rest = it->second - need;
    chosen->free.erase(it);
    if (rest > 0) chosen->free[offset + need] = rest;
    chosen->freeBytes -= need;
    return std::make_shared<Extent>(shared_from_this(), chosen, offset, need);
  }
  throw Failure("ERR_RDMC_OUT_OF_MEMORY", "No arena has room");
}

void ArenaPool::populate(Extent& extent) {
  Arena& arena = *extent.arena;
  const size_t first = extent.offset / kChunkBytes;
  const size_t last = (extent.offset + extent.length - 1) / kChunkBytes;
  for (size_t chunk = last + 1; chunk-- > first;) {
    if (arena.populated[chunk].load(std::memory_order_relaxed)) continue;
    populateRange(arena.memory.data() + chunk * kChunkBytes, kChunkBytes);
    arena.populated[chunk].store(true, std::memory_order_relaxed);
  }
}

std::shared_ptr<Extent> ArenaPool::allocate(size_t length, bool late) {
  std::lock_guard guard(mutex_);
  return carve(length, late);
}

std::shared_ptr<Arena> ArenaPool::find(uint32_t id) {
  std::lock_guard guard(mutex_);
  const auto found = arenas_.find(id);
  return found == arenas_.end() ? nullptr : found->second;
}

uint32_t ArenaPool::replace(Extent& extent) {
  std::lock_guard guard(mutex_);
  if (!extent.next) {
    extent.next = createArena(roundUp(extent.length, kChunkBytes), false);
    extent.next->free.clear();
    extent.next->freeBytes = 0;
  }
  const Arena& fresh = *extent.next;
  // Pages that cannot be had are refused here; a copy into them would end the process.
  populateRange(fresh.memory.data(), fresh.memory.length());
  if (const auto moved = arenas_.find(extent.fresh); moved != arenas_.end()) {
    moveUnderWriters(extent, moved->second->memory.data(), fresh);
  } else {
    const Mapping old = mapArena(extent.arena->fd.get(), extent.arena->memory.length());
    moveUnderWriters(extent, old.data() + extent.offset, fresh);
  }
  // The mapping lives on at the extent's address; peers reach the memory by the arena's descriptor.
  arenas_.erase(extent.fresh);
  extent.fresh = fresh.id;
  extent.next.reset();
  extent.moved = 0;
  return extent.fresh;
}

void ArenaPool::release(Extent& extent) {
  std::vector<uint32_t> gone;
  {
    std::lock_guard guard(mutex_);
    Arena& arena = *extent.arena;
    if (extent.next && arenas_.erase(extent.next->id)) gone.push_back(extent.next->id);
    if (extent.abandoned) {
      // The addresses no longer show this arena's pages: an own arena goes, a shared one loses the room.
      if (!arena.shared && arenas_.erase(arena.id)) gone.push_back(arena.id);
      if (arenas_.erase(extent.fresh)) gone.push_back(extent.fresh);
    } else if (!arena.shared) {
      arena.free[0] = extent.length;
      arena.freeBytes = extent.length;
      idle_.push_back(arena.id);
      trim(gone);
    } else {
      auto [it, added] = arena.free.emplace(extent.offset, extent.length);
      arena.freeBytes += extent.length;
      auto next = std::next(it);
      if (next != arena.free.end() && it->first + it->second == next->first) {
        it->second += next->second;
        arena.free.erase(next);
      }
      if (it != arena.free.begin()) {
        auto previous = std::prev(it);
        if (previous->first + previous->second == it->first) {
          previous->second += it->second;
          arena.free.erase(it);
        }
      }
    }
  }
  if (gone.empty()) return;
  std::lock_guard guard(goneMutex_);
  for (uint32_t id : gone) {
    if (onGone_) onGone_(onGoneContext_, id);
  }
}

void ArenaPool::onGone(OnGone callback, void* context) {
  std::lock_guard guard(goneMutex_);
  onGone_ = callback;
  onGoneContext_ = context;
}

void ArenaPool::trim(std::vector<uint32_t>& gone) {
  size_t idleBytes = 0;
  for (uint32_t id : idle_) idleBytes += arenas_[id]->memory.length();
  while (idleBytes > kRetainedBytes && idle_.size() > 1) {
    const uint32_t oldest = idle_.front();
    idle_.pop_front();
    idleBytes -= arenas_[oldest]->memory.length();
    arenas_.erase(oldest);
    gone.push_back(oldest);
  }
}

size_t ArenaPool::mappedBytes() {
  std::lock_guard guard(mutex_);
  size_t total = 0;
  for (auto& [id, arena] : arenas_) total += arena->memory.length();
  return total;
}

}  // namespace rdmc
