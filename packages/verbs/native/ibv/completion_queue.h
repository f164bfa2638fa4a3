// A completion queue of an RDMA device, and the completions that were taken out of it and wait to be polled.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "core/ordered_lock.h"
#include "core/raii.h"
#include "ibv/channel.h"
#include "ibv/lock_order.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvContext;
class IbvErrorState;
class IbvTranslator;
struct IbvLimits;
struct IbvQueuePair;

// What every completion queue of a device works with.
struct IbvPolling {
  const IbvContext& context;
  const IbvLimits& limits;
  IbvTranslator& translator;
  IbvErrorState& errors;
};

class IbvCompletionQueue final : public CompletionQueue {
 public:
  IbvCompletionQueue(const IbvPolling& polling, uint32_t depth, std::shared_ptr<IbvChannel> channel);
  ~IbvCompletionQueue() override { release(); }
  void arm(bool solicitedOnly) override;
  uint32_t poll(CompletionSlot* out, uint32_t max);
  ibv_cq* hardware() const { return cq_; }
  const std::shared_ptr<IbvChannel>& channel() const { return channel_; }

  // Makes room for that many outstanding requests more: a queue that overran would be lost with all its queue
  // pairs. Throws ERR_RDMC_DEVICE_LIMIT.
  void reserve(uint32_t requests);
  void giveBack(uint32_t requests);
  // The same for a shared receive queue, whose requests complete once, whichever queue pair takes them: room for
  // them is made for its first queue pair here, and given back with the last.
  void reserveShared(uint32_t queue, uint32_t requests);
  void giveBackShared(uint32_t queue, uint32_t requests);
  // Takes everything out of the hardware, for the next poll.
  void absorb();
  // Drops waiting completions of a destroyed queue pair.
  void purge(uint32_t queuePair);
  // Completions this process makes itself; with `lock` held.
  void push(const CompletionSlot& completion) { waiting_.push_back(completion); }
  void release();
  // The device lost it (IBV_EVENT_CQ_ERR): no queue pair can be made with it any more.
  void fail() { failed_ = true; }
  // Seen to be broken while polling; with `lock` held.
  void noteBroken(std::shared_ptr<IbvQueuePair> qp) { broken_.push_back(std::move(qp)); }

  Ordered<SpinLock, IbvLock::kCompletions> lock;
  uint32_t users = 0;                        // queue pairs; under the lock of IbvCompletionQueues
  std::shared_ptr<IbvQueuePair> lastHolder;  // of the completion translated last; under `lock`

 private:
  void makeRoom(uint32_t requests);  // with `lock` held
  uint32_t pollHardware(CompletionSlot* out, uint32_t max);
  // Has the remaining requests of broken queue pairs flushed. Without `lock`.
  void kickBroken();

  const IbvPolling polling_;
  const std::shared_ptr<IbvChannel> channel_;
  ibv_cq* cq_ = nullptr;
  std::atomic<bool> failed_{false};
  uint32_t reserved_ = 0;
  std::map<uint32_t, uint32_t> sharers_;  // queue pairs by the shared receive queue they take from
  std::deque<CompletionSlot> waiting_;
  std::vector<std::shared_ptr<IbvQueuePair>> broken_;
};

}  // namespace rdmc

#endif
