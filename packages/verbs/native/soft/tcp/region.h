// Whether the NIC thread may touch memory: checked within TcpTouch around every access, because a region can be revoked
// or closed between two pieces of one request. The check does not count as a use of the region, so that closing a
// region under an inbound WRITE is not refused; the barrier makes the close wait instead.
#pragma once
#include "core/failure.h"
#include "soft/device.h"

namespace rdmc {

// The region, where it permits that access to at least one byte; else nullptr. It does not go while memory is touched.
inline const Region* tcpRegion(const QueuePair& qp, uint32_t key, uint64_t address, uint64_t length, uint32_t access) {
  const Region* region;
  try {
    region = &qp.device().regions().at(key);
  } catch (const Failure&) {
    return nullptr;
  }
  const bool remote = (access & kRemoteAccess) != 0;
  const bool permits = !(remote && region->revoked.load(std::memory_order_seq_cst)) &&
                       (region->access & access) == access && region->protectionDomain == qp.protectionDomain() &&
                       address >= region->address && length <= region->length &&
                       address - region->address <= region->length - length;
  return permits ? region : nullptr;
}

inline bool tcpPermits(const QueuePair& qp, uint32_t key, uint64_t address, uint64_t length, uint32_t access) {
  return length == 0 || tcpRegion(qp, key, address, length, access) != nullptr;
}

// Whether a message may be placed in an entry of a receive. Peers on this host map the receive and may have changed it:
// they must not reach more than what they can map, so that the rule of posting holds here as well.
inline bool tcpTakesMessage(const QueuePair& qp, const Sge& entry) {
  if (entry.length == 0) return true;
  const Region* region = tcpRegion(qp, entry.lkey, entry.address(), entry.length, kLocalWrite);
  return region && qp.mayReceiveInto(*region);
}

// Where the NIC thread reads and writes it, if that is permitted then; nullptr where no region has the key.
inline void* tcpMemory(const QueuePair& qp, uint32_t key, uint64_t address) {
  return qp.device().regions().deviceMemory(key, address);
}

}  // namespace rdmc
