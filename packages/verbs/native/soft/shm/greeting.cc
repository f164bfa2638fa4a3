#include "soft/shm/greeting.h"

#include <string>

namespace rdmc {

LinkMessage shmHello(const DeviceId& own, bool keyed) {
  LinkMessage message = linkMessage(kHello);
  message.hello.version = kControlVersion;
  message.hello.keyed = keyed ? 1 : 0;
  message.hello.device = own;
  return message;
}

Mac shmProof(const std::vector<uint8_t>& key, ShmRole role, const ShmGreeting& greeting) {
  std::string message = role == ShmRole::kInitiator ? "rdmc-shm-2 initiator" : "rdmc-shm-2 listener";
  const auto append = [&](const auto& bytes) {
    message.append(reinterpret_cast<const char*>(&bytes[0]), sizeof bytes);
  };
  append(greeting.initiator);
  append(greeting.listener);
  append(greeting.initiatorNonce);
  append(greeting.listenerNonce);
  return keyProof(key, message);
}

}  // namespace rdmc
