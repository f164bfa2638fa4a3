#include "binding/registered_memory.h"

#include <utility>

namespace rdmc {

void RegisteredMemory::add(const std::shared_ptr<Device>& device, uint32_t region, Napi::ObjectReference view) {
  forgetGone();
  Views& views = views_[device];
  const uint32_t slot = RegionTable::indexOf(region);
  views.erase(slot);
  views.emplace(slot, Registered{region, std::move(view)});
}

void RegisteredMemory::remove(const std::shared_ptr<Device>& device, uint32_t region) {
  const auto found = views_.find(device);
  if (found == views_.end()) return;
  found->second.erase(RegionTable::indexOf(region));
  if (found->second.empty()) views_.erase(found);
}

void RegisteredMemory::forgetGone() {
  std::erase_if(views_, [](const auto& each) { return each.first.expired(); });
}

void RegisteredMemory::end() noexcept {
  for (const auto& [weak, views] : views_) {
    const auto device = weak.lock();
    if (!device) continue;
    for (const auto& [index, registered] : views) device->evictRegion(registered.region);
  }
  views_.clear();
}

}  // namespace rdmc
