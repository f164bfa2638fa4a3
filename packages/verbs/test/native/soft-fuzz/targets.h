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
//   4  TCP listener with a key: a greeting whose proof is right or wrong, and what follows it
//   5  TCP dialler with a key: the replies to a greeting
//   6  Unix socket with a key: as 4, with messages and descriptors
//   7  Unix dialler, with and without a key: a hostile device that listens, its messages, descriptors and memory
constexpr unsigned kTargets = 8;

void tcpListener(const uint8_t* data, size_t size);
void tcpPeer(const uint8_t* data, size_t size);
void link(const uint8_t* data, size_t size);
void control(const uint8_t* data, size_t size);
void keyedTcpListener(const uint8_t* data, size_t size);
void keyedTcpDialler(const uint8_t* data, size_t size);
void keyedLink(const uint8_t* data, size_t size);
void linkListener(const uint8_t* data, size_t size);

}  // namespace rdmc::fuzz
