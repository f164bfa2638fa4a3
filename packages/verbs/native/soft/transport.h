// How queue pairs of a soft device reach those of other soft devices. Any thread may call.
#pragma once
#include <memory>

#include "core/device.h"
#include "soft/address.h"

namespace rdmc {

class QueuePair;

class SoftTransport {
 public:
  virtual ~SoftTransport() = default;
  virtual const char* name() const = 0;
  // Whether a WRITE's bytes become visible in increasing address order.
  virtual bool dataInOrder() const = 0;
  // Connects in the background; `done` is called once, on a native thread or, where the device is closed, on this one.
  virtual void connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote,
                       const ConnectParameters& parameters, const ConnectCallback& done) = 0;
  // The queue pair was destroyed: frees its page (SoftDevice::freeQpIndex) once the peer does not use it any more.
  virtual void release(const std::shared_ptr<QueuePair>& qp) = 0;
};

}  // namespace rdmc
