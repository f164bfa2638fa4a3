// Memory of JavaScript that is registered with devices, by the environment that registered it.
//
// The heap that it lies in ends with the environment, while a device may belong to another thread and live on. So the
// environment's end evicts these regions from their devices, before Node frees the heap. Until then, or until the
// region is closed, the view is referred to here, so that its memory is not collected.
#pragma once
#include <napi.h>

#include <map>
#include <memory>
#include <unordered_map>

#include "core/device.h"

namespace rdmc {

class RegisteredMemory {
 public:
  void add(const std::shared_ptr<Device>& device, uint32_t region, Napi::ObjectReference view);
  void remove(const std::shared_ptr<Device>& device, uint32_t region);
  // Devices that are closed, and in which no thread is any more: a copy, for one, goes on while another thread closes
  // the device. Those in which one is are for a later call.
  void forgetGone();
  // The environment ends. Regions that another thread has closed, and devices that it has closed, are left alone.
  void end() noexcept;

 private:
  struct Registered {
    uint32_t region;
    Napi::ObjectReference view;
  };
  // By slot: the next region in the slot takes the place of one that another thread has closed.
  using Views = std::unordered_map<uint32_t, Registered>;
  // Weak: a device ends when it is closed. One that is being closed by another thread can still be locked.
  std::map<std::weak_ptr<Device>, Views, std::owner_less<>> views_;
};

}  // namespace rdmc
