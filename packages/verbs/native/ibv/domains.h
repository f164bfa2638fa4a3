// The protection domains of an RDMA device by number, and how many queues use each.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/ordered_lock.h"
#include "core/region_table.h"
#include "ibv/context.h"
#include "ibv/lock_order.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvDomains {
 public:
  // `regions` counts the regions of each domain.
  IbvDomains(const IbvContext& context, RegionTable& regions) : context_(context), regions_(regions), domains_(1) {}

  uint32_t create();
  // Throws ERR_RDMC_PROTECTION_DOMAIN_BUSY.
  void destroy(uint32_t number);
  // Both throw ERR_RDMC_PROTECTION_DOMAIN_CLOSED. Between `use` and `leave` it cannot be destroyed.
  ibv_pd* at(uint32_t number);
  ibv_pd* use(uint32_t number);
  void leave(uint32_t number);
  // From now on both throw.
  void seal(uint32_t number);
  // With the context's gate held exclusively.
  void release();

 private:
  struct Domain {
    ibv_pd* pd = nullptr;
    uint32_t users = 0;  // queue pairs and shared receive queues
    bool sealed = false;
  };
  Domain& here(uint32_t number);  // with lock_ held
  const IbvContext& context_;
  RegionTable& regions_;
  Ordered<std::mutex, IbvLock::kDomains> lock_;
  std::vector<Domain> domains_;
};

}  // namespace rdmc

#endif
