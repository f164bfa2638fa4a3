// Devices of this process, by handle: every thread that loads the addon sees the same ones.
#pragma once
#include <memory>

#include "soft_device.h"

namespace rdmc {

int addDevice(std::shared_ptr<SoftDevice> device);
// Throws Failure ERR_RDMC_DEVICE_CLOSED.
std::shared_ptr<SoftDevice> findDevice(int handle);
void closeDevice(int handle);

}  // namespace rdmc
