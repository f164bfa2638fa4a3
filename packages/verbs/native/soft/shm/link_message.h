// What service threads of devices on one host tell each other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/raii.h"
#include "soft/control_segment.h"

namespace rdmc {

// One message between service threads, over a sequenced-packet Unix socket, descriptors beside it: 72 bytes.
//
//   0 type  4 a  8 b  12 c  16 u64 size  24 id [16]  40 bytes [32]
//
// A connection begins with a greeting (D: the side that dials, L: the side that listens). L hands out descriptors only
// after D has proved the key, and D maps what it gets only after L has. Without a key the two steps in the middle are
// left out, and the proofs are zeros.
//
//   D -> L  kHello      a: control version, b: 1 has a key, id: device of D, bytes: nonce of D
//   L -> D  kChallenge  bytes: nonce of L
//   D -> L  kProof      bytes: HMAC-SHA256(key, "rdmc-shm-2 initiator" D L nonce-of-D nonce-of-L), D and L the device
//   ids L -> D  kHello      a: control version, id: device of L, bytes: HMAC-SHA256(key, "rdmc-shm-2 listener" and so
//   on)
//                                                                                   + control memfd
//   L -> D  kRefused    a: reason (1 another user, 2 another version, 3 another key, or none)
//
// After that:
//
//   kGetEvent   a: queue pair                                                            asks how to wake it
//   kEvent      a: queue pair, b: its completion queue, c: 1 exists, 2 has a channel,
//               size: id of the channel                                          + bell (soft/peer_bells.h)
//   kGetArena   a: arena
//   kArena      a: arena, size: bytes, 0 when it is gone                               + memfd
//   kArenaGone  a: arena                                                                 drop your mapping
//   kPeerError  a: queue pair of the receiver whose peer broke the connection
//   kDetach     a: queue pair of the receiver, b: index of the sender's, which is going away
//   kDetached   a: the index: nobody uses that page any more
//   kWake       look again: what the receiver waits for may be there
struct LinkMessage {
  uint32_t type, a, b, c;
  uint64_t size;
  DeviceId id;
  uint8_t bytes[32];
};
static_assert(sizeof(LinkMessage) == 72 && offsetof(LinkMessage, id) == 24 && offsetof(LinkMessage, bytes) == 40);

enum LinkRefusalReason : uint32_t { kLinkOtherUser = 1, kLinkOtherVersion = 2, kLinkWrongKey = 3 };

enum LinkMessageType : uint32_t {
  kHello = 1,
  kRefused,
  kGetEvent,
  kEvent,
  kGetArena,
  kArena,
  kArenaGone,
  kPeerError,
  kDetach,
  kDetached,
  kChallenge,
  kProof,
  kWake,
};

enum class LinkSent { kYes, kNoRoom, kBroken };

// Never waits.
LinkSent sendLinkMessage(int socket, const LinkMessage& message, const int* fds = nullptr, int fdCount = 0);
// 1: one message; 0: none now; -1: the other side is gone.
int receiveLinkMessage(int socket, LinkMessage& message, std::vector<Fd>& fds);

}  // namespace rdmc
