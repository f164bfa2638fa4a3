#include "soft/shm/transport.h"

#include "core/failure.h"

namespace rdmc {

void ShmTransport::stop() {
  listener_.stop();
  dialler_.stop();
}

void ShmTransport::connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote,
                           const ConnectParameters& parameters, const ConnectCallback& done) {
  const bool posted = device_.service().post([this, waiting = ShmDialler::Waiting{qp, remote, parameters, done, 0}] {
    try {
      dialler_.connect(waiting);
    } catch (const std::exception&) {
      const Failure failure = caughtFailure();
      waiting.done(&failure);
    }
  });
  if (posted) return;
  const Failure closed("ERR_RDMC_DEVICE_CLOSED", "The device is closed");
  done(&closed);
}

void ShmTransport::release(const std::shared_ptr<QueuePair>& qp) {
  if (!device_.service().post([this, qp] { dialler_.release(*qp); })) device_.freeQpIndex(qp->index());
}

}  // namespace rdmc
