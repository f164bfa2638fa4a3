// The soft device between hosts: TCP, moved by a native thread of its own (the "NIC").
#pragma once
#include <memory>
#include <span>
#include <string>

#include "soft/device.h"

namespace rdmc {

class TcpNic;

class TcpTransport {
 public:
  // Listens on the device's host and port; throws Failure.
  explicit TcpTransport(SoftDevice& device);
  ~TcpTransport();
  void stop();
  uint16_t port() const;
  // Connects in the background; calls `done` once, on the NIC thread. Admitted by challenge where the
  // device has a key.
  void connect(const std::shared_ptr<QueuePair>& qp, const QueuePairAddress& remote,
               const ConnectParameters& parameters, const ConnectCallback& done);
  // Work for the NIC thread (Progress::kForNic). It sees all of these queue pairs or none. Any thread.
  void mark(std::span<const std::shared_ptr<QueuePair>> queuePairs);
  // A destroyed queue pair: frees its page (SoftDevice::freeQpIndex) once the NIC has let go.
  void release(const std::shared_ptr<QueuePair>& qp);
  // A region was hidden: returns when the NIC thread places no more bytes into it.
  void quiesceRegion(uint32_t index);

 private:
  std::unique_ptr<TcpNic> nic_;
};

}  // namespace rdmc
