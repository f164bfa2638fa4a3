// The completion channels and completion queues of an RDMA device by number.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ordered_lock.h"
#include "ibv/completion_queue.h"
#include "ibv/lock_order.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvCompletionQueues {
 public:
  explicit IbvCompletionQueues(const IbvPolling& polling) : polling_(polling) {}

  int createChannel();
  std::shared_ptr<IbvChannel> channel(int id);  // throws ERR_RDMC_CHANNEL_CLOSED
  // Throws ERR_RDMC_CHANNEL_BUSY, ERR_RDMC_CHANNEL_CLOSED.
  void destroyChannel(int id);

  uint32_t create(uint32_t depth, int channel);
  std::shared_ptr<IbvCompletionQueue> at(uint32_t number);  // throws ERR_RDMC_COMPLETION_QUEUE_CLOSED
  // Throws ERR_RDMC_COMPLETION_QUEUE_BUSY, ERR_RDMC_COMPLETION_QUEUE_CLOSED.
  void destroy(uint32_t number);
  // Between `use` and `leave` it cannot be destroyed. Throws ERR_RDMC_COMPLETION_QUEUE_CLOSED.
  std::shared_ptr<IbvCompletionQueue> use(uint32_t number);
  void leave(IbvCompletionQueue& queue);

  // The device lost this one.
  void fail(const void* queue);
  // Wakes whoever waits for a channel: completions were made here.
  void wakeAll();
  // The device is closed or gone: no thread waits any longer.
  void endChannels();
  // With the context's gate held exclusively.
  void release();

 private:
  std::shared_ptr<IbvChannel>& channelHere(int id);            // with lock_ held
  std::shared_ptr<IbvCompletionQueue>& here(uint32_t number);  // with lock_ held
  const IbvPolling polling_;
  Ordered<std::mutex, IbvLock::kTables> lock_;
  std::vector<std::shared_ptr<IbvChannel>> channels_;
  std::vector<std::shared_ptr<IbvCompletionQueue>> queues_;
};

}  // namespace rdmc

#endif
