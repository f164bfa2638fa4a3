#include "binding/environment.h"

#include "binding/descriptors.h"
#include "core/registry.h"

namespace rdmc {

Environment& Environment::of(Napi::Env env) {
  auto* found = env.GetInstanceData<Environment>();
  if (!found) {
    found = new Environment(env);
    env.SetInstanceData<Environment>(found);
    env.AddCleanupHook([](Environment* mine) { mine->end(); }, found);
  }
  return *found;
}

// Memory after the devices: what these held needs no eviction.
void Environment::end() noexcept {
  closeDevices();
  memory.end();
  Descriptors::all().closeOf(env_);
}

void Environment::closeDevices() noexcept {
  while (!devices.empty()) {
    try {
      closeDevice(devices.back());
    } catch (const std::exception&) {
      // The environment ends: the error cannot be reported.
    }
    devices.pop_back();
  }
}

}  // namespace rdmc
