// Asynchronous events of an RDMA device, and whether it is still there: read by a thread of its own.
#pragma once
#include <functional>
#include <string>
#include <thread>

#include "core/async_events.h"
#include "core/raii.h"
#include "ibv/completion_queues.h"
#include "ibv/error_state.h"
#include "ibv/port.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvEvents {
 public:
  struct Parts {
    const IbvContext& context;
    IbvPort& port;
    IbvQueuePairTable& table;
    IbvCompletionQueues& completionQueues;
    IbvErrorState& errors;
    AsyncEvents& published;
    // Called on the thread: the device is gone.
    std::function<void(const std::string& why)> abandon;
  };
  explicit IbvEvents(Parts parts);
  // The thread ends soon.
  void stop() const;
  // Returns when it has ended.
  void join();

 private:
  void watch();
  void run();  // until the device is closed or gone
  void handle(ibv_async_event& event);
  AsyncEvent describe(const ibv_async_event& event) const;
  void flushUnderWay();
  void loseQueue(const void* cq);
  const Parts parts_;
  Fd stop_;
  std::thread thread_;
};

}  // namespace rdmc

#endif
