#include "soft/region_directory.h"

namespace rdmc {

void SharedRegionDirectory::publish(uint32_t index, const Region& region) {
  SharedRegion& shared = control_.region(index);
  shared.access = region.access;
  shared.protectionDomain = region.protectionDomain;
  shared.arena = region.extent->arena->id;
  shared.arenaOffset = region.extent->offset;
  shared.address = region.address;
  shared.length = region.length;
  shared.moving.store(0);
  shared.key.store(region.key.load(), std::memory_order_seq_cst);  // the last one
}

void SharedRegionDirectory::revoke(uint32_t index, const Region& region) {
  control_.region(index).access.store(region.access & ~kRemoteAccess, std::memory_order_seq_cst);
}

void SharedRegionDirectory::withdraw(uint32_t index) { control_.region(index).key.store(0, std::memory_order_seq_cst); }

}  // namespace rdmc
