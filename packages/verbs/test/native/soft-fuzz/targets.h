// What hostile bytes meet: each target hands one input to a soft device in this process and returns once the device is
// through with it. The device must survive; the sanitizers say whether it did.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rdmc::fuzz {

// The first byte of an input chooses the target; the rest is the target's.
//   0  TCP listener: a stranger's greeting, and what follows it
//   1  TCP peer: frames of a peer that has been admitted, both ways
//   2  Unix socket: messages of a stranger on this host, with descriptors
//   3  control segment: a peer whose pages hold anything
constexpr unsigned kTargets = 4;

void tcpListener(const uint8_t* data, size_t size);
void tcpPeer(const uint8_t* data, size_t size);
void link(const uint8_t* data, size_t size);
void control(const uint8_t* data, size_t size);

}  // namespace rdmc::fuzz
