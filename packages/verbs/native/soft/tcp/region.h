// Whether the NIC thread may touch memory: checked within TcpTouch around every access, because a region can be revoked
// or closed between two pieces of one request. The check does not count as a use of the region, so that closing a
// region under an inbound WRITE is not refused; the barrier makes the close wait instead.
#pragma once
#include "core/failure.h"
#include "soft/device.h"

namespace rdmc {

inline bool tcpPermits(const QueuePair& qp, uint32_t key, uint64_t address, uint64_t length, uint32_t access) {
  Region* region;
  if (length == 0) return true;
  try {
    region = &qp.device().regions().at(key);
  } catch (const Failure&) {
    return false;  // no region there
  }
  return !region->revoked.load(std::memory_order_seq_cst) && (region->access & access) == access &&
         region->protectionDomain == qp.protectionDomain() && address >= region->address && length <= region->length &&
         address - region->address <= region->length - length;
}

}  // namespace rdmc
