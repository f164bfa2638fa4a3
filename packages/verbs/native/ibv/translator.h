// Turns completions of the hardware into those of the device interface. Nothing is allocated here.
#pragma once
#include <atomic>
#include <cstdint>

#include "ibv/queue_pair_table.h"
#include "ibv/shared_receive_queues.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvTranslator {
 public:
  IbvTranslator(IbvQueuePairTable& table, IbvSharedReceiveQueues& shared) : table_(table), shared_(shared) {}
  // Returns how many there are. With the lock of `cq` held.
  uint32_t translate(IbvCompletionQueue& cq, const ibv_wc* from, uint32_t count, CompletionSlot* out);
  uint64_t completions() const { return completions_; }

 private:
  bool translateShared(IbvCompletionQueue& cq, const ibv_wc& wc, CompletionSlot& out);
  IbvQueuePairTable& table_;
  IbvSharedReceiveQueues& shared_;
  std::atomic<uint64_t> completions_{0};
};

}  // namespace rdmc

#endif
