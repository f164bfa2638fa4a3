// Copying in the orders that the soft device guarantees.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rdmc {

// Bytes that are copied between two checks of the peer's state.
constexpr size_t kQuantumBytes = 64 << 10;

// In increasing address order, in aligned 64-byte units of the destination: a thread that sees a unit sees all units
// before it. (memcpy does not guarantee an order.)
void copyOrdered(uint8_t* to, const uint8_t* from, size_t length);

// As fast as possible, in any order.
void copyAnyOrder(uint8_t* to, const uint8_t* from, size_t length);

}  // namespace rdmc
