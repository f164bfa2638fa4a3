// The soft device between hosts: TCP, moved by a native thread of its own (the "NIC").
#pragma once
#include <memory>
#include <span>
#include <string>

#include "soft/device.h"
#include "soft/transport.h"

namespace rdmc {

class TcpNic;

class TcpTransport final : public SoftTransport {
 public:
  // Listens on the device's host and port; throws Failure.
  explicit TcpTransport(SoftDevice& device);
  ~TcpTransport() override;
  void stop();
  uint16_t port() const;
  const char* name() const override { return "tcp"; }
  bool dataInOrder() const override { return false; }
  // Calls `done` on the NIC thread. Admitted by challenge where the device has a key.
  void connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote, const ConnectParameters& parameters,
               const ConnectCallback& done) override;
  // Work for the NIC thread (Progress::kForNic). It sees all of these queue pairs or none. Any thread.
  void mark(std::span<const std::shared_ptr<QueuePair>> queuePairs);
  void release(const std::shared_ptr<QueuePair>& qp) override;
  // A region was hidden: returns when the NIC thread places no more bytes into it.
  void quiesceRegion(uint32_t index);

 private:
  std::unique_ptr<TcpNic> nic_;
};

}  // namespace rdmc
