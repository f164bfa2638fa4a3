// Bells: peers use them to wake the threads that wait for a completion channel of this process. A bell is a pair of
// Unix datagram sockets: this process keeps and reads one end, and the peer gets the other and rings by sending a byte.
//
// An eventfd would not do. All processes with a descriptor share its open file: a peer could clear O_NONBLOCK and fill
// the counter, and so block every thread that rings or answers; or it could read the counter, and wake-ups of others
// would be lost. A check does not help, because the peer can do so after the check, and write(2) to an eventfd does not
// have a flag against waiting. send(2) and recv(2) have one for each call, MSG_DONTWAIT, which no setting of the peer's
// changes. On a descriptor that is not a socket they fail at once. Each peer has a pair of its own, so that what it
// does to its end (shutting it down, connecting it elsewhere, filling it) affects its own wake-ups only; when the other
// end of a datagram socket is shut down or closed, ours does not become readable.
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
  // Returns whether there was one. It may have been rung.
  bool remove(uint64_t link);
  // Takes rings off the bell whose end is `fd`, where it still is one.
  void silence(int fd);

  // Whether a descriptor that a peer sent is safe to ring.
  static bool isBell(const Fd& fd);
  // Never waits. Where the socket is full, it has been rung already.
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
