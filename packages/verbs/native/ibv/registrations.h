// The memory regions of an RDMA device as its hardware knows them.
//
// What JavaScript knows as an lkey is a slot of the region table; the hardware's lkey is looked up at posting, where
// bounds and rights are checked anyway, so a wrong key is refused with its name instead of breaking the queue pair.
// Remote keys go over the wire and are the hardware's own. A region that peers may reach is registered twice, for local
// use and for remote use: taking the second registration away revokes the peers' access for good, and requests of our
// own, posted ones included, go on. (Changed access flags alone are not relied on for that.)
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/arena_pool.h"
#include "core/ordered_lock.h"
#include "core/region_table.h"
#include "ibv/domains.h"
#include "ibv/error_state.h"
#include "ibv/lock_order.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

struct RegionKeys {
  ibv_mr* local = nullptr;
  ibv_mr* remote = nullptr;
  uint32_t localKey = 0, remoteKey = 0;
};

class IbvRegistrations {
 public:
  IbvRegistrations(const IbvContext& context, RegionTable& regions, IbvDomains& domains, IbvErrorState& errors)
      : context_(context),
        regions_(regions),
        domains_(domains),
        errors_(errors),
        pool_(std::make_shared<ArenaPool>()),
        keys_(std::make_unique<RegionKeys[]>(kMaxRegions)) {}

  // These return the region's handle.
  uint32_t allocate(uint32_t pd, uint64_t length, uint32_t access);
  uint32_t registerMemory(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access);
  uint32_t registerDmabuf(uint32_t pd, int fd, uint64_t offset, uint64_t length, uint32_t access);
  uint32_t remoteKey(uint32_t region);
  // Both throw ERR_RDMC_REGION_BUSY where the device keeps the registration: the region stays as it was.
  void revoke(uint32_t handle);
  void close(uint32_t handle);
  // Of a region that was evicted; throws as they do.
  void takeBack(uint32_t index);

  // By index of the region; for posting.
  const RegionKeys* keys() const { return keys_.get(); }
  uint64_t mappedBytes() const { return pool_->mappedBytes(); }
  // No peer reaches any memory from here on, and no request can name any.
  void release();

 private:
  ibv_mr* registerWith(ibv_pd* pd, void* address, uint64_t length, uint32_t access);
  void registerKeys(uint32_t region, uint32_t pd, uint64_t length, uint32_t access);
  void registerOrRemove(uint32_t region, uint32_t pd, uint64_t length, uint32_t access);
  RegionKeys& keysOf(uint32_t region) { return keys_[RegionTable::indexOf(region)]; }
  void giveKeysBack(uint32_t index);
  void deregister(ibv_mr*& mr, uint32_t pd);
  Failure failureOf(uint64_t length, uint32_t times, int error) const;

  const IbvContext& context_;
  RegionTable& regions_;
  IbvDomains& domains_;
  IbvErrorState& errors_;
  const std::shared_ptr<ArenaPool> pool_;
  const std::unique_ptr<RegionKeys[]> keys_;
  Ordered<std::mutex, IbvLock::kRegistrations> lock_;  // held while a registration is taken back
};

}  // namespace rdmc

#endif
