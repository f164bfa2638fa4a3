// What service threads of devices on one host tell each other.
#pragma once
#include <cstdint>
#include <vector>

#include "control_segment.h"
#include "raii.h"

namespace rdmc {

// One message between service threads, over a sequenced-packet Unix socket, descriptors beside it.
//
//   kHello      a: control version, id: device        + control memfd, service eventfd   both ways, first
//   kRefused    a: reason (1 another user, 2 another version)
//   kGetEvent   a: queue pair                                                            asks how to wake it
//   kEvent      a: queue pair, b: its completion queue, c: 1 exists, 2 has a channel,
//               size: id of the channel                                          + eventfd
//   kGetArena   a: arena
//   kArena      a: arena, size: bytes, 0 when it is gone                               + memfd
//   kArenaGone  a: arena                                                                 drop your mapping
//   kPeerError  a: queue pair of the receiver whose peer broke the connection
//   kDetach     a: queue pair of the receiver, b: index of the sender's, which is going away
//   kDetached   a: the index: nobody uses that page any more
struct LinkMessage {
  uint32_t type, a, b, c;
  uint64_t size;
  DeviceId id;
};
static_assert(sizeof(LinkMessage) == 40);

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
};

enum class LinkSent { kYes, kNoRoom, kBroken };

// Never waits.
LinkSent sendLinkMessage(int socket, const LinkMessage& message, const int* fds = nullptr, int fdCount = 0);
// 1: one message; 0: none now; -1: the other side is gone.
int receiveLinkMessage(int socket, LinkMessage& message, std::vector<Fd>& fds);

}  // namespace rdmc
