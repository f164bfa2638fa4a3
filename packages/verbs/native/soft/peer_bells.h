// Bells by which peers wake whoever waits for a completion channel of ours. A bell is a pair of Unix datagram sockets:
// we keep and read one end, the peer gets the other and rings by sending a byte.
//
// Not eventfds. Whoever holds a descriptor shares its open file with all others that do: a peer could clear O_NONBLOCK,
// fill the counter, and so stop every thread that rings or answers, or read the counter and take wake-ups of others
// away. No check helps, because it can do so after the check, and write(2) to an eventfd has no flag against waiting.
// send(2) and recv(2) have one for each call, MSG_DONTWAIT, which no setting of the peer's changes. On anything but a
// socket they fail at once. Each peer has a pair of its own, so what it does to its end (shutting it down, connecting
// it elsewhere, filling it) concerns its own wake-ups only; that a datagram socket's other end was shut down or closed
// makes ours not readable.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/raii.h"

namespace rdmc {

class PeerBells {
 public:
  // `epoll`: where our ends are watched. It outlives this.
  explicit PeerBells(const Fd& epoll) : epoll_(epoll) {}
  // The end for the peer of a link, the same every time, for a message to it; it is closed by `remove`. Throws Failure.
  int endFor(uint64_t link);
  // Whether there was one. It may have been rung.
  bool remove(uint64_t link);
  // Takes rings off the bell whose end is `fd`, where it still is one.
  void silence(int fd);

  // Whether a descriptor that a peer handed out can be rung without harm.
  static bool isBell(const Fd& fd);
  // Never waits. Full: it has been rung.
  static void ring(int fd);

 private:
  struct Bell {
    Fd ours, theirs;
  };
  const Fd& epoll_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Bell> bells_;  // by link
};

}  // namespace rdmc
