// What a device knows of one peer device on this host: its control segment, its arenas as far as they
// were needed, and the descriptors that wake it. Made by the service thread, read by all threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
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

// A peer's arena mapped here. Faulted in chunk by chunk, before the first copy into each chunk.
struct PeerArena {
  uint32_t id;
  Mapping memory;
  std::unique_ptr<std::atomic<uint8_t>[]> populated;  // by chunk
  void prepare(uint64_t offset, uint64_t length);
};

class PeerLink {
 public:
  PeerLink(Fd socket, ControlSegment control, Fd wake);

  const ControlSegment& control() const { return control_; }
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  bool alive() const { return !lost() && control_.alive(); }
  int socket() const { return socket_.get(); }
  // Wakes the peer's service thread.
  void poke() const;
  // Wakes whoever waits for the peer's completion queue; once per arming.
  void signal(uint32_t cq, bool solicited);

  // nullptr: not mapped yet.
  std::shared_ptr<PeerArena> arena(uint32_t id);
  // Sends a kGetArena unless one is under way.
  void requestArena(uint32_t id);
  void addArena(uint32_t id, const Fd& fd, uint64_t size);
  void dropArena(uint32_t id);
  // Rises whenever an arena is dropped: cached pointers are to be looked up again.
  uint32_t arenaEpoch() const { return arenaEpoch_.load(std::memory_order_acquire); }

  void addEvent(uint32_t cq, uint64_t channelId, Fd fd);
  bool send(const LinkMessage& message);
  void markLost();

 private:
  Fd socket_;
  ControlSegment control_;
  Fd wake_;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<PeerArena>> arenas_;
  std::vector<uint32_t> requested_;
  std::atomic<uint32_t> arenaEpoch_{0};
  std::atomic<int> events_[kMaxCqs];
  // By completion queue. Descriptors of channels that were replaced stay open in `pastFds_`: another thread
  // may be writing to one.
  struct Event {
    uint64_t channelId;
    Fd fd;
  };
  std::unordered_map<uint32_t, Event> eventFds_;
  std::vector<Fd> pastFds_;
  std::atomic<uint32_t> lastSignalled_[kMaxCqs];
};

bool sendLinkMessage(int socket, const LinkMessage& message, const int* fds = nullptr, int fdCount = 0);
// 1: one message; 0: none now; -1: the other side is gone.
int receiveLinkMessage(int socket, LinkMessage& message, std::vector<Fd>& fds);

}  // namespace rdmc
