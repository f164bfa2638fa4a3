// Copying with the orders the soft device promises.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rdmc {

// Bytes copied between two looks at the state of the other side.
constexpr size_t kQuantumBytes = 64 << 10;

// In increasing address order, in aligned 64-byte units of the destination: whoever sees a unit
// sees all before it. (memcpy promises no order.)
void copyOrdered(uint8_t* to, const uint8_t* from, size_t length);

// As fast as the machine can, in any order.
void copyAnyOrder(uint8_t* to, const uint8_t* from, size_t length);

}  // namespace rdmc
