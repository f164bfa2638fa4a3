// The queue pairs of an RDMA device from creation to destruction.
#pragma once
#include <cstdint>

#include "core/device.h"
#include "ibv/completion_queues.h"
#include "ibv/domains.h"
#include "ibv/error_state.h"
#include "ibv/limits.h"
#include "ibv/shared_receive_queues.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

// What a queue pair consists of besides itself.
struct IbvQueuePairParts {
  IbvDomains& domains;
  IbvCompletionQueues& completionQueues;
  IbvSharedReceiveQueues& shared;
};

class IbvQueuePairs {
 public:
  IbvQueuePairs(const IbvContext& context, const IbvLimits& limits, const IbvQueuePairParts& parts,
                IbvQueuePairTable& table, IbvErrorState& errors)
      : context_(context), limits_(limits), parts_(parts), table_(table), errors_(errors) {}

  uint32_t create(const QueuePairParameters& parameters);
  // Throws ERR_RDMC_QUEUE_PAIR_CLOSED.
  void destroy(uint32_t number);
  // Destroys the hardware's part of a closed queue pair; only the first call does so. With the context's gate held.
  void destroyHardware(IbvQueuePair& qp);

  QpState state(uint32_t number);
  NamedNumbers attributes(uint32_t number);
  bool dataInOrder(uint32_t number);

 private:
  void takeParts(IbvQueuePair& qp);
  void leaveParts(IbvQueuePair& qp);
  void reserveCompletions(IbvQueuePair& qp);
  void giveCompletionsBack(IbvQueuePair& qp);
  void createHardware(IbvQueuePair& qp);
  const IbvContext& context_;
  const IbvLimits& limits_;
  const IbvQueuePairParts parts_;
  IbvQueuePairTable& table_;
  IbvErrorState& errors_;
};

}  // namespace rdmc

#endif
