// The shared receive queues of an RDMA device by number, and how many queue pairs use each.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ordered_lock.h"
#include "ibv/domains.h"
#include "ibv/limits.h"
#include "ibv/lock_order.h"
#include "ibv/queue_pair.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvSharedReceiveQueues {
 public:
  IbvSharedReceiveQueues(const IbvContext& context, const IbvLimits& limits, IbvDomains& domains)
      : context_(context), limits_(limits), domains_(domains) {}

  uint32_t create(uint32_t pd, uint32_t depth);
  // Throws ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY, ERR_RDMC_QUEUE_PAIR_CLOSED.
  void destroy(uint32_t number);
  std::shared_ptr<IbvSharedReceiveQueue> find(uint32_t number);  // nullptr when there is none
  // Between `use` and `leave` it cannot be destroyed. Throws ERR_RDMC_QUEUE_PAIR_CLOSED.
  std::shared_ptr<IbvSharedReceiveQueue> use(uint32_t number);
  void leave(IbvSharedReceiveQueue& queue);
  // Returns when the requests that are being posted now are in their queues.
  void awaitPosters();
  // With the context's gate held exclusively.
  void release();

 private:
  std::shared_ptr<IbvSharedReceiveQueue>& here(uint32_t number);  // with lock_ held
  void giveBack(IbvSharedReceiveQueue& queue);
  const IbvContext& context_;
  const IbvLimits& limits_;
  IbvDomains& domains_;
  Ordered<std::mutex, IbvLock::kTables> lock_;
  std::vector<std::shared_ptr<IbvSharedReceiveQueue>> queues_;
};

}  // namespace rdmc

#endif
