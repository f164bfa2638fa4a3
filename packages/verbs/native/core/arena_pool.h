// Memory that peers can map: arenas, one memfd each, from which regions are carved.
//
// Page faults cost more than copies, so extents are faulted in before they are handed out and freed
// extents are kept for the next request. Large extents (16 MiB and more) have an arena of their own.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/raii.h"

namespace rdmc {

constexpr size_t kChunkBytes = 2 << 20;  // populated, and mapped by huge pages where allowed, in this unit
constexpr size_t kSharedArenaBytes = 64 << 20;
constexpr size_t kOwnArenaFrom = 16 << 20;
constexpr size_t kRetainedBytes = 512 << 20;  // free memory of own arenas kept for reuse

class ArenaPool;

struct Arena {
  uint32_t id;
  Fd fd;
  Mapping memory;
  bool shared;                                     // carved into many extents
  bool late = false;                               // of these, extents whose pages come with their first use
  std::map<size_t, size_t> free;                   // offset -> length
  std::unique_ptr<std::atomic<bool>[]> populated;  // by chunk; set by the thread that faulted it in
  size_t freeBytes = 0;
};

// A carved piece; goes back to the pool when the last owner (region, view of a thread) drops it.
struct Extent {
  Extent(std::shared_ptr<ArenaPool> pool, std::shared_ptr<Arena> arena, size_t offset, size_t length)
      : pool(std::move(pool)), arena(std::move(arena)), offset(offset), length(length) {}
  ~Extent();
  uint8_t* data() const { return arena->memory.data() + offset; }
  std::shared_ptr<ArenaPool> pool;
  std::shared_ptr<Arena> arena;
  size_t offset, length;
  bool abandoned = false;  // its pages were replaced: not shareable any more, never reused
  uint32_t fresh = 0;      // the arena they come from now
  // A replacement that failed half-way: where the pages come from, and how many bytes already do.
  std::shared_ptr<Arena> next;
  size_t moved = 0;
};

class ArenaPool : public std::enable_shared_from_this<ArenaPool> {
 public:
  using OnGone = void (*)(void* context, uint32_t arenaId);
  // Called with each arena that goes, in the thread that released its last extent: that may be any, also after the owner of
  // the context has let go of the pool. When this returns, no earlier callback runs any more. The callback must not release
  // extents.
  void onGone(OnGone callback, void* context);
  // Both are callable from any thread. `allocate` has not faulted memory in that is new: `populate` does, and may take
  // long. `late`: pages come with their first use, unless `populate` is called later. Such extents are carved from arenas of their
  // own, because an arena is faulted in by chunks, and a chunk of both kinds would be there as a whole.
  std::shared_ptr<Extent> allocate(size_t length, bool late = false);
  // From the end on: who fills the memory meanwhile does so from the beginning.
  static void populate(Extent& extent);
  // The memfd of an arena, for a peer; nullptr when it is gone.
  std::shared_ptr<Arena> find(uint32_t id);
  // Gives an extent fresh memory at the same address, copied from the old; processes that still map the old pages keep
  // those. Returns the new arena's id. Throws Failure where memory, descriptors or addresses have run out; a second
  // call continues where the first one stopped. `extent.moved` says whether it has begun.
  uint32_t replace(Extent& extent);
  void release(Extent& extent);
  size_t mappedBytes();

 private:
  std::shared_ptr<Arena> createArena(size_t length, bool shared);
  std::shared_ptr<Extent> carve(size_t length, bool late);
  void trim(std::vector<uint32_t>& gone);

  std::mutex mutex_;
  uint32_t nextId_ = 1;
  std::unordered_map<uint32_t, std::shared_ptr<Arena>> arenas_;
  std::list<uint32_t> idle_;  // own arenas that are free, oldest first
  std::mutex goneMutex_;  // of the two below, held during a call
  OnGone onGone_ = nullptr;
  void* onGoneContext_ = nullptr;
};

// Makes pages present and writable; where the kernel is too old for it, touches them.
void populateRange(uint8_t* base, size_t length);
// Maps a memfd shared and writable, aligned so that huge pages are possible.
Mapping mapArena(int fd, size_t length);
// The extent's pages at another address, at which they can be neither read nor written (PROT_NONE). It does not change
// with `ArenaPool::replace`.
Mapping mapInaccessible(const Extent& extent);

}  // namespace rdmc
