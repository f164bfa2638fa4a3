#include "core/registry.h"

#include <mutex>
#include <vector>

#include "core/failure.h"

namespace rdmc {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Device>> devices;
};

// Never destroyed: other threads may still use it while the process exits.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

}  // namespace

int addDevice(std::shared_ptr<Device> device) {
  std::lock_guard guard(registry().mutex);
  registry().devices.push_back(std::move(device));
  return int(registry().devices.size() - 1);
}

std::shared_ptr<Device> findDevice(int handle) {
  std::lock_guard guard(registry().mutex);
  auto& devices = registry().devices;
  if (handle < 0 || size_t(handle) >= devices.size() || !devices[size_t(handle)]) {
    throw Failure("ERR_RDMC_DEVICE_CLOSED", "The device is closed");
  }
  return devices[size_t(handle)];
}

void closeDevice(int handle) {
  std::shared_ptr<Device> device;
  {
    std::lock_guard guard(registry().mutex);
    auto& devices = registry().devices;
    if (handle < 0 || size_t(handle) >= devices.size()) return;
    device = std::move(devices[size_t(handle)]);
  }
  // Views and queues of other threads may keep the object; it stops working now.
  if (device) device->close();
}

}  // namespace rdmc
