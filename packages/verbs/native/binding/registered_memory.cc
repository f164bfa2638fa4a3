#include "binding/registered_memory.h"

#include <utility>

namespace rdmc {

void RegisteredMemory::add(const std::shared_ptr<Device>& device, uint32_t region, Napi::ObjectReference view) {
  std::erase_if(views_, [](const auto& each) { return each.first.expired(); });
  views_[device].insert_or_assign(region, std::move(view));
}

void RegisteredMemory::remove(const std::shared_ptr<Device>& device, uint32_t region) {
  const auto found = views_.find(device);
  if (found == views_.end()) return;
  found->second.erase(region);
  if (found->second.empty()) views_.erase(found);
}

void RegisteredMemory::removeAll(const std::shared_ptr<Device>& device) { views_.erase(device); }

void RegisteredMemory::end() noexcept {
  for (const auto& [weak, views] : views_) {
    const auto device = weak.lock();
    if (!device) continue;
    for (const auto& [region, view] : views) device->evictRegion(region);
  }
  views_.clear();
}

}  // namespace rdmc
