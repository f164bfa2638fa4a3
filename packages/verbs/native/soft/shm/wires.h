// The queue pairs that are connected over shared memory, by index, each from then until its page is given back. The
// service thread's.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "soft/shm/wire.h"

namespace rdmc {

struct ShmWired {
  uint32_t number;  // the queue pair's
  DeviceId peer;    // that of the queue pair at the other end
  std::shared_ptr<ShmWire> wire;
};
using ShmWires = std::unordered_map<uint32_t, ShmWired>;

}  // namespace rdmc
