// The TCP connections of a queue pair. The NIC thread owns them; posting threads mark the wire, or send a small request
// themselves when the socket is idle.
#pragma once
#include <atomic>
#include <memory>

#include "soft/queue_pair.h"
#include "soft/tcp/send_window.h"

namespace rdmc {

class TcpNic;
class TcpRequester;
class TcpResponder;

class TcpWire : public Wire, public std::enable_shared_from_this<TcpWire> {
 public:
  TcpWire(TcpNic& nic, const DeviceId& peerDevice, uint32_t peerNumber)
      : peerDevice(peerDevice), peerNumber(peerNumber), nic_(nic) {}
  SoftTransport& transport() const override;
  Progress progress(QueuePair& pair, int64_t& budgetBytes) override;
  void receivePosted(QueuePair& qp) override;
  void resume(QueuePair&) override;
  uint32_t localPeer() const override;
  bool quiesce(QueuePair& qp) override;
  void detach(QueuePair&) override {}

  const DeviceId peerDevice;
  const uint32_t peerNumber;

  // Any thread.
  bool closed() const { return closed_.load(std::memory_order_seq_cst); }
  std::atomic<bool> rnrWaiting{false};  // the NIC waits for a receive
  std::atomic<bool> marked{false};      // on the NIC's list

  TcpSendWindow window;  // under the queue pair's sendLock

  // NIC thread only. Both connections outlive their entry here.
  std::shared_ptr<QueuePair> qp;
  TcpRequester* requester = nullptr;
  TcpResponder* responder = nullptr;

 private:
  TcpNic& nic_;
  std::atomic<bool> closed_{false};
};

}  // namespace rdmc
