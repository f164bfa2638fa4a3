// What both ends of a greeting over a Unix socket compute. See soft/shm/link_message.h.
#pragma once
#include <vector>

#include "soft/control_segment.h"
#include "soft/key_proof.h"
#include "soft/shm/link_message.h"

namespace rdmc {

enum class ShmRole { kInitiator, kListener };

// The two devices and their nonces: a proof is bound to these and to the role.
struct ShmGreeting {
  DeviceId initiator{}, listener{};
  uint8_t initiatorNonce[kNonceBytes]{};
  uint8_t listenerNonce[kNonceBytes]{};
};

LinkMessage shmHello(const DeviceId& own, bool keyed);
// Throws Failure.
Mac shmProof(const std::vector<uint8_t>& key, ShmRole role, const ShmGreeting& greeting);

}  // namespace rdmc
