// How devices of one host meet: sequenced-packet sockets in the abstract Unix name space, which belongs to the network
// namespace.
#pragma once
#include <memory>

#include "soft/shm/dialler.h"
#include "soft/shm/listener.h"
#include "soft/transport.h"

namespace rdmc {

class ShmTransport final : public SoftTransport {
 public:
  explicit ShmTransport(SoftDevice& device)
      : device_(device), listener_(device, wires_), dialler_(*this, device, wires_) {}

  // Any thread.
  const char* name() const override { return "shm"; }
  bool dataInOrder() const override { return true; }
  void connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote, const ConnectParameters& parameters,
               const ConnectCallback& done) override;
  void release(const std::shared_ptr<QueuePair>& qp) override;

  // The service thread.
  void start() { listener_.start(); }
  void stop();
  void arenaGone(uint32_t id) { listener_.arenaGone(id); }
  // Milliseconds until it wants to run again, -1 for never.
  int turn() { return sooner(listener_.turn(), dialler_.turn()); }

 private:
  SoftDevice& device_;
  ShmWires wires_;
  ShmListener listener_;
  ShmDialler dialler_;
};

}  // namespace rdmc
