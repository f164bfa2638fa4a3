// What an RDMA device can do; fixed when it is opened.
#pragma once
#include <cstdint>

#include "ibv/context.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

struct IbvLimits {
  uint32_t maxQueuePairs, maxCompletionQueues, maxCompletionQueueDepth, maxSendDepth, maxReceiveDepth;
  uint32_t maxSge, maxInlineBytes, maxRegions, maxSharedReceiveDepth;
  uint64_t maxMessageBytes;
  bool atomics;
  bool ordersWrites;  // ibv_query_qp_data_in_order of WRITEs
};

// Creates queue pairs to find out. Throws Failure ERR_RDMC_UNSUPPORTED where the device creates none.
IbvLimits readLimits(const IbvContext& context, const ibv_port_attr& port);

}  // namespace rdmc

#endif
