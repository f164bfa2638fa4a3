// The error state of queue pairs, and what must be certain in it: that the peer changes no byte any more, and that
// everything posted completes.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "ibv/context.h"
#include "ibv/queue_pair_table.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvErrorState {
 public:
  IbvErrorState(const IbvContext& context, IbvQueuePairTable& table) : context_(context), table_(table) {}

  // A barrier: sets the error state, and returns when the device has finished with the queue pair.
  void fail(IbvQueuePair& qp);
  // Sets the error state; not a barrier.
  void toError(IbvQueuePair& qp);
  // The queue pairs through which memory of a protection domain can be reached.
  void breakDomain(uint32_t pd);
  // The same, and none of them is left in the device.
  void loseDomain(uint32_t pd);
  // A barrier for a region that was evicted: the queue pairs whose requests name it fail.
  void failUsers(const Region& region);
  // The same for one whose state is kError already.
  void breakOff(IbvQueuePair& qp);
  // Makes the device process what was posted to a broken queue pair: some do so only after a state change.
  void kick(IbvQueuePair& qp);
  // Waits until the device has finished with a queue pair in the error state; false: it did not report that in time.
  bool awaitEnd(IbvQueuePair& qp);
  // The device has raised the event that it holds nothing of its shared receive queue any more.
  void lastReached(uint32_t number);
  bool takeReached(uint32_t number);

  // Nothing can be posted to the hardware's queue pair from here on.
  void takeAway(IbvQueuePair& qp);
  // Destroys the hardware's queue pair that was taken away.
  void destroyLost(IbvQueuePair& qp);
  // Both, and what was posted is flushed; ours can still be posted to, and closed. With `control` held.
  void lose(IbvQueuePair& qp, uint32_t firstStatus);
  // Completes all outstanding requests, instead of a device that does not do so any more. With `posting` held.
  static void flushHere(IbvQueuePair& qp, uint32_t firstStatus);

 private:
  bool postMarker(IbvQueuePair& qp);
  const IbvContext& context_;
  IbvQueuePairTable& table_;
  std::mutex lock_;
  std::unordered_set<uint32_t> lastReached_;  // queue pairs
};

}  // namespace rdmc

#endif
