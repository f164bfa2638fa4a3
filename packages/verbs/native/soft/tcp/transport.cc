#include "soft/tcp/transport.h"

#include "soft/tcp/nic.h"

namespace rdmc {

TcpTransport::TcpTransport(SoftDevice& device) : nic_(std::make_unique<TcpNic>(*this, device)) {}

TcpTransport::~TcpTransport() = default;

void TcpTransport::stop() { nic_->stop(); }

uint16_t TcpTransport::port() const { return nic_->port(); }

void TcpTransport::connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote,
                           const ConnectParameters& parameters, const ConnectCallback& done) {
  nic_->connect(qp, remote, parameters, done);
}

void TcpTransport::mark(std::span<const std::shared_ptr<QueuePair>> queuePairs) { nic_->mark(queuePairs); }

void TcpTransport::release(const std::shared_ptr<QueuePair>& qp) { nic_->release(qp); }

void TcpTransport::quiesceRegion(uint32_t) {
  // The region is hidden: the next access sees that, and the one that runs is waited for.
  nic_->touch().wait();
}

}  // namespace rdmc
