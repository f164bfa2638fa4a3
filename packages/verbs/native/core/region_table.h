// The memory regions of a device: slots that are private to the process, and what peers must know in a directory.
//
// A key is index | generation << 14; lkey and rkey are the same number. A slot is reused with another generation, so
// that a stale key is detected. The key is also JavaScript's handle of the region: a handle that another thread has
// closed is not valid for the region that took the slot.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "core/arena_pool.h"
#include "core/limits.h"

namespace rdmc {

struct Region {
  std::atomic<uint32_t> key{0};
  std::atomic<uint32_t> outstanding{0};  // work requests posted with it and not completed
  std::atomic<uint32_t> copies{0};       // of these, copies by threads of the program
  uint64_t address = 0;
  uint64_t length = 0;
  uint32_t access = 0;
  uint32_t protectionDomain = 0;
  uint32_t generation = 0;
  bool shareable = false;  // peers on this host can map it
  bool hostAccess = true;  // false: the program's threads cannot read or write it at `address`
  std::atomic<bool> revoked{false};  // `access` has no remote rights any more
  std::shared_ptr<Extent> extent;
  Mapping inaccessible;   // without host access: what lies at `address`, where the extent is elsewhere
  uint64_t toDevice = 0;  // from `address` to where a software device reads and writes the bytes, modulo 2^64

  // Where a software device reads and writes the byte at an address of the region.
  uint8_t* deviceMemory(uint64_t at) const { return reinterpret_cast<uint8_t*>(at + toDevice); }
};

// Where peers look keys up. Called with the table's lock held.
class RegionDirectory {
 public:
  virtual void publish(uint32_t index, const Region& region) = 0;
  // Remote rights end. Peers still find the key, because it is also the key of receives that were posted with the
  // region.
  virtual void revoke(uint32_t index, const Region& region) = 0;
  virtual void withdraw(uint32_t index) = 0;

 protected:
  ~RegionDirectory() = default;
};

class RegionTable {
 public:
  // nullptr on devices whose hardware looks keys up.
  explicit RegionTable(RegionDirectory* directory);

  static uint32_t indexOf(uint32_t handle) { return handle & (kMaxRegions - 1); }

  // Both return the handle. Throw Failure ERR_RDMC_DEVICE_LIMIT.
  // `inaccessible`: another mapping of the extent, whose addresses the region has: without host access.
  uint32_t addExtent(std::shared_ptr<Extent> extent, uint64_t length, uint32_t access, uint32_t pd,
                     Mapping inaccessible = {});
  uint32_t addForeign(uint64_t address, uint64_t length, uint32_t access, uint32_t pd, bool hostAccess = true);

  Region& at(uint32_t handle);  // throws ERR_RDMC_REGION_CLOSED
  // Marks one more outstanding request; nullptr when the key is not valid.
  Region* acquire(uint32_t key);
  static void drop(Region* region) { region->outstanding.fetch_sub(1, std::memory_order_seq_cst); }
  // The same for a mark that JavaScript holds; the region may have been evicted meanwhile. Throws
  // ERR_RDMC_REGION_CLOSED.
  void letGo(uint32_t handle);
  // No new remote use after this, except by messages for receives: they use the local key. Throws
  // ERR_RDMC_REGION_CLOSED.
  void revoke(uint32_t handle);
  // Requests that name it are refused from now on, and its handle is not valid any more. Throws ERR_RDMC_REGION_CLOSED,
  // ERR_RDMC_REGION_BUSY while requests are outstanding.
  void retire(uint32_t handle);
  // Retires a region whose memory is about to be freed, whatever requests are outstanding: they still count, and the
  // slot is not reused before they have ended. Waits for copies, and for a thread that is closing the region. False: it
  // is closed.
  bool evict(uint32_t handle);
  // The key of a retired region disappears from the directory as well.
  void hideRetired(uint32_t index);
  // A retired region is valid again.
  void restore(uint32_t index);
  // Gives back the slot and the memory of a retired region.
  void remove(uint32_t index);
  // The memory behind a region, retired ones included; nullptr when there is none.
  std::shared_ptr<Extent> extent(uint32_t index);
  // The memory and the length of a region; nullptr as memory where it was not allocated here. Throws
  // ERR_RDMC_REGION_CLOSED, ERR_RDMC_NO_HOST_ACCESS.
  std::pair<std::shared_ptr<Extent>, uint64_t> memoryOf(uint32_t handle);
  // Where a software device reads and writes that address of the region with this key; nullptr: there is none.
  uint8_t* deviceMemory(uint32_t key, uint64_t address) const;
  // For copies by address: marks the region with host access that contains this range as used; nullptr: there is none.
  Region* beginCopy(uint64_t address, uint64_t length);
  static void endCopy(Region* region);
  uint32_t count(uint32_t pd);
  // Both of a slot that was not removed, retired ones included.
  uint32_t domainOf(uint32_t index) const { return regions_[index].protectionDomain; }
  const Region& slot(uint32_t index) const { return regions_[index]; }

 private:
  enum class Eviction { kDone, kClosed, kLater };
  Eviction tryEvict(uint32_t handle);
  uint32_t take();
  uint32_t publish(uint32_t index);
  RegionDirectory* const directory_;
  std::mutex mutex_;
  std::unique_ptr<Region[]> regions_;
  uint32_t hint_ = 1;
  uint32_t highest_ = 0;
};

}  // namespace rdmc
