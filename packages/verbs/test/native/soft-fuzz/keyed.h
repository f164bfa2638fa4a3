// The victims that have a key. Random bytes do not prove a key, so the targets compute the proof where an input asks
// for it; they end the process where a device admits somebody whose proof is wrong.
#pragma once
#include <memory>
#include <vector>

#include "input.h"
#include "soft/device.h"
#include "soft/key_proof.h"

namespace rdmc::fuzz {

inline std::vector<uint8_t> fuzzKey() { return std::vector<uint8_t>(32, 0x5a); }

// A device with a queue pair's surroundings.
struct KeyedVictim {
  explicit KeyedVictim(const char* transport, bool keyed = true) {
    SoftOptions options;
    options.transport = transport;
    options.host = "127.0.0.1";
    if (keyed) options.key = fuzzKey();
    device = std::make_shared<SoftDevice>(std::move(options));
    pd = device->createProtectionDomain();
    cq = device->createCompletionQueue(64, -1);
    region = device->allocateRegion(pd, kBytes, kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic);
  }
  uint32_t queuePair() const { return device->createQueuePair({pd, cq, cq, 16, 16, true}); }
  static constexpr uint64_t kBytes = 64 << 10;
  std::shared_ptr<SoftDevice> device;
  uint32_t pd = 0, cq = 0, region = 0;
};

// The right proof, or with the bits of the input's next bytes turned.
inline Mac proofOf(const Mac& right, bool isRight, Input& input) {
  if (isRight) return right;
  Mac wrong{};
  input.fill(wrong);
  for (size_t i = 0; i < wrong.size(); ++i) wrong[i] ^= right[i];
  return wrong;
}

}  // namespace rdmc::fuzz
