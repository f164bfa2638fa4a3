// One peer device on this host: its control segment, those of its arenas that were needed, and the descriptors that
// wake it. The service thread creates it, all threads read it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/raii.h"
#include "soft/control_segment.h"
#include "soft/shm/link_outbox.h"

namespace rdmc {

// A peer's arena mapped here. Faulted in chunk by chunk, before the first copy into each chunk.
struct PeerArena {
  uint32_t id;
  Mapping memory;
  std::unique_ptr<std::atomic<uint8_t>[]> populated;  // by chunk
  void prepare(uint64_t offset, uint64_t length);
};

class PeerLink {
 public:
  PeerLink(Fd socket, ControlSegment control);

  const ControlSegment& control() const { return control_; }
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  bool alive() const { return !lost() && control_.alive(); }
  int socket() const { return socket_.get(); }
  // Wakes the peer's service thread by a message: where the socket is full, the peer has messages to read already.
  void poke() const;
  // Wakes the threads that wait for the peer's completion queue; once per arming. Never waits.
  void signal(uint32_t cq, bool solicited);

  // nullptr: not mapped yet.
  std::shared_ptr<PeerArena> arena(uint32_t id);
  // Sends a kGetArena unless one is under way.
  void requestArena(uint32_t id);
  // Throws Failure where the file is not sealed, or not of the announced size.
  void addArena(uint32_t id, const Fd& fd, uint64_t size);
  void dropArena(uint32_t id);
  // Incremented whenever an arena is dropped: cached pointers must be looked up again.
  uint32_t arenaEpoch() const { return arenaEpoch_.load(std::memory_order_acquire); }

  // Throws Failure where the descriptor is not a bell.
  void addEvent(uint32_t cq, uint64_t channelId, Fd fd);
  // From any thread. False: the peer is gone. What its socket has no room for waits for `flush`.
  bool send(const LinkMessage& message);
  enum class Flushed { kAll, kSome, kNeverRead };
  // Sends what waits. kNeverRead: more waits than a living peer leaves unread.
  Flushed flush();
  void markLost();

 private:
  Fd socket_;
  ControlSegment control_;
  std::atomic<bool> lost_{false};
  std::mutex outboxMutex_;
  LinkOutbox outbox_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<PeerArena>> arenas_;
  std::vector<uint32_t> requested_;
  std::atomic<uint32_t> arenaEpoch_{0};
  std::atomic<int> events_[kMaxCqs];
  // By completion queue.
  struct Event {
    uint64_t channelId;
    Fd fd;
  };
  std::unordered_map<uint32_t, Event> eventFds_;
  std::atomic<uint32_t> lastSignalled_[kMaxCqs];
};

}  // namespace rdmc
