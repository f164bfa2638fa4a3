// The queue pairs of an RDMA device by number, and by the number that the hardware gave them.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/ordered_lock.h"
#include "core/raii.h"
#include "ibv/lock_order.h"
#include "ibv/queue_pair.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvQueuePairTable {
 public:
  explicit IbvQueuePairTable(uint32_t maxQueuePairs);

  // A number stays taken from before the queue pair's creation until its hardware is destroyed.
  // Throws ERR_RDMC_DEVICE_LIMIT.
  uint32_t takeNumber();
  void giveNumberBack(uint32_t number);
  void add(const std::shared_ptr<IbvQueuePair>& qp);
  // Throws ERR_RDMC_QUEUE_PAIR_CLOSED when another thread has removed it.
  void remove(const IbvQueuePair& qp);

  std::shared_ptr<IbvQueuePair> find(uint32_t number);  // nullptr when there is none
  std::shared_ptr<IbvQueuePair> at(uint32_t number);    // throws ERR_RDMC_QUEUE_PAIR_CLOSED
  std::vector<std::shared_ptr<IbvQueuePair>> all();

  // 0: of a destroyed queue pair.
  uint32_t numberOf(uint32_t hardwareNumber);
  void forget(uint32_t hardwareNumber);

 private:
  const uint32_t maxQueuePairs_;
  Ordered<SpinLock, IbvLock::kTables> lock_;
  std::vector<std::shared_ptr<IbvQueuePair>> qps_;
  std::vector<bool> taken_;
  std::vector<uint32_t> generations_;
  std::unordered_map<uint32_t, uint32_t> byHardwareNumber_;
};

}  // namespace rdmc

#endif
