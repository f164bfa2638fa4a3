// Devices of this process, by handle: every thread that loads the addon sees the same ones. A handle is used once, so
// that the handle of a closed device is not valid for another.
#pragma once
#include <memory>

#include "core/device.h"

namespace rdmc {

int addDevice(std::shared_ptr<Device> device);
// Throws Failure ERR_RDMC_DEVICE_CLOSED.
std::shared_ptr<Device> findDevice(int handle);
void closeDevice(int handle);

}  // namespace rdmc
