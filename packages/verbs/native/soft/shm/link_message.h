// Messages between the service threads of devices on one host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/raii.h"
#include "soft/control_segment.h"

namespace rdmc {

// One message between service threads, over a sequenced-packet Unix socket: 72 bytes in the byte order of the host, and
// descriptors beside them. Bytes without a name are 0.
//
//   at           0     4          8                12     16       24      40
//   kHello       type  version    keyed                            device  nonce or proof
//   kRefused     type  reason     version
//   kChallenge   type                                                      nonce
//   kProof       type                                                      proof
//   kGetEvent    type  queuePair
//   kEvent       type  queuePair  completionQueue  state  channel                           + bell (soft/peer_bells.h)
//   kGetArena    type  arena
//   kArena       type  arena                              bytes                             + memfd
//   kArenaGone   type  arena
//   kPeerError   type  queuePair
//   kDetach      type  queuePair  index
//   kDetached    type  index
//   kWake        type
//
// A connection begins with a greeting (D: the side that dials, L: the side that listens). L hands out descriptors only
// after D has proved the key, and D maps what it gets only after L has. Without a key the two steps in the middle are
// left out, and the proofs are zeros.
//
//   D -> L  kHello      device: D, keyed: 1 has a key, nonce of D
//   L -> D  kChallenge  nonce of L
//   D -> L  kProof      HMAC-SHA256(key, "rdmc-shm-2 initiator" D L nonce-of-D nonce-of-L), D and L the device ids
//   L -> D  kHello      device: L, proof: HMAC-SHA256(key, "rdmc-shm-2 listener" and so on)          + control memfd
//   L -> D  kRefused    instead of an answer; reason: LinkRefusalReason
//
// After that:
//
//   D -> L  kGetEvent   asks how to wake whoever polls for the queue pair
//   L -> D  kEvent      state: LinkEventState; channel: its id
//   D -> L  kGetArena   asks for memory
//   L -> D  kArena      bytes: 0 when it is gone
//   L -> D  kArenaGone  drop your mapping
//   D -> L  kPeerError  the initiator broke the connection to this queue pair of the receiver
//   D -> L  kDetach     `index` of the sender, which was connected to `queuePair` of the receiver, is going away
//   L -> D  kDetached   nobody uses the page of that index any more
//   D -> L  kWake       look again: what the receiver waits for may be there
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

enum LinkRefusalReason : uint32_t { kLinkOtherUser = 1, kLinkOtherVersion = 2, kLinkWrongKey = 3 };
enum LinkEventState : uint32_t { kLinkNoQueuePair = 0, kLinkWithoutChannel = 1, kLinkWithChannel = 2 };

constexpr size_t kLinkSecretBytes = 32;  // a nonce or a proof

struct LinkHello {
  uint32_t type, version, keyed, reserved[3];
  DeviceId device;
  uint8_t secret[kLinkSecretBytes];  // a nonce from D, a proof from L
};
struct LinkRefused {
  uint32_t type, reason, version;
};
struct LinkSecret {
  uint32_t type, reserved[9];
  uint8_t bytes[kLinkSecretBytes];
};
struct LinkEvent {
  uint32_t type, queuePair, completionQueue, state;
  uint64_t channel;
};
struct LinkArena {
  uint32_t type, id, reserved[2];
  uint64_t bytes;
};
struct LinkPeerError {
  uint32_t type, queuePair;
};
struct LinkDetach {
  uint32_t type, queuePair, index;
};
struct LinkDetached {
  uint32_t type, index;
};

// `{}` clears all of it: the first member is as long as the whole.
union LinkMessage {
  LinkHello hello;
  uint32_t type;  // where all members have it
  LinkRefused refused;
  LinkSecret challenge, proof;
  LinkEvent event;  // kGetEvent and kEvent
  LinkArena arena;  // kGetArena, kArena and kArenaGone
  LinkPeerError peerError;
  LinkDetach detach;
  LinkDetached detached;
};
// As drawn above.
static_assert(sizeof(LinkMessage) == 72 && sizeof(LinkHello) == 72 && alignof(LinkMessage) == 8);
static_assert(offsetof(LinkHello, version) == 4 && offsetof(LinkHello, keyed) == 8);
static_assert(offsetof(LinkHello, device) == 24 && offsetof(LinkHello, secret) == 40);
static_assert(offsetof(LinkRefused, reason) == 4 && offsetof(LinkRefused, version) == 8);
static_assert(offsetof(LinkSecret, bytes) == 40 && sizeof(LinkSecret) == 72);
static_assert(offsetof(LinkEvent, queuePair) == 4 && offsetof(LinkEvent, completionQueue) == 8);
static_assert(offsetof(LinkEvent, state) == 12 && offsetof(LinkEvent, channel) == 16);
static_assert(offsetof(LinkArena, id) == 4 && offsetof(LinkArena, bytes) == 16);
static_assert(offsetof(LinkPeerError, queuePair) == 4 && offsetof(LinkDetached, index) == 4);
static_assert(offsetof(LinkDetach, queuePair) == 4 && offsetof(LinkDetach, index) == 8);

inline LinkMessage linkMessage(LinkMessageType type) {
  LinkMessage message{};
  message.type = type;
  return message;
}

constexpr int kMessagesAtOnce = 64;  // read from one peer, which must not keep the others waiting

enum class LinkSent { kYes, kNoRoom, kBroken };

// Never waits.
LinkSent sendLinkMessage(int socket, const LinkMessage& message, const int* fds = nullptr, int fdCount = 0);
// 1: one message; 0: none now; -1: the other side is gone.
int receiveLinkMessage(int socket, LinkMessage& message, std::vector<Fd>& fds);

}  // namespace rdmc
