// Connects queue pairs: their addresses, and the way from INIT to ready-to-send. What may block (the resolution of an
// address takes a second) runs on the threads of `workers_`.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/device.h"
#include "core/work_pool.h"
#include "ibv/error_state.h"
#include "ibv/port.h"
#include "ibv/queue_pairs.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvConnector {
 public:
  IbvConnector(const IbvContext& context, const IbvPort& port, IbvErrorState& errors, IbvQueuePairs& queuePairs)
      : context_(context), port_(port), errors_(errors), queuePairs_(queuePairs) {}

  // Throws ERR_RDMC_QUEUE_PAIR_CLOSED.
  AddressFields address(IbvQueuePair& qp) const;
  // Returns at once; `done` is called once, on a thread of `workers_`. Throws Failure where it does not begin.
  void connect(const std::shared_ptr<IbvQueuePair>& qp, const AddressFields& remote,
               const ConnectParameters& parameters, ConnectCallback done);
  std::string transport(const IbvQueuePair& qp) const;  // "": not connected yet
  bool connecting() const { return underWay_ > 0; }
  // Returns when no connect is under way any more.
  void stop() { workers_.stop(); }

 private:
  struct RemoteEnd {
    uint32_t queuePair, packetNumber, mtuBytes, reads, lid;
    std::array<uint8_t, 16> gid;
  };
  RemoteEnd readRemote(const AddressFields& from) const;
  // nullptr: it is connected.
  std::unique_ptr<Failure> attempt(IbvQueuePair& qp, const RemoteEnd& end, const ConnectParameters& parameters);
  void establish(IbvQueuePair& qp, const RemoteEnd& remote, const ConnectParameters& parameters);
  int toReceiving(ibv_qp* qp, const RemoteEnd& remote, const IbvPortState& here, uint32_t mtu,
                  const ConnectParameters& parameters) const;
  int toSending(ibv_qp* qp, uint32_t packetNumber, uint32_t remoteReads, const ConnectParameters& parameters) const;

  const IbvContext& context_;
  const IbvPort& port_;
  IbvErrorState& errors_;
  IbvQueuePairs& queuePairs_;
  std::atomic<uint32_t> underWay_{0};
  WorkPool workers_;
};

}  // namespace rdmc

#endif
