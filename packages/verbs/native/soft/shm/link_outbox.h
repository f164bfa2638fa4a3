// Messages for a peer's service thread that its socket has no room for: a stopped peer reads none, and the kernel
// keeps some 270. They go out in order, each when there is room again, with descriptors of their own. A peer that reads
// none for so long that the limits are reached is given up.
#pragma once
#include <deque>
#include <vector>

#include "core/raii.h"
#include "soft/shm/link_message.h"

namespace rdmc {

constexpr int kFlushAgainMs = 5;  // while something waits

class LinkOutbox {
 public:
  // False: the socket is broken, or the peer reads nothing.
  bool send(int socket, const LinkMessage& message, const int* fds = nullptr, int fdCount = 0);
  // Sends what there is room for.
  void flush(int socket);
  bool empty() const { return waiting_.empty(); }
  // A message was lost because too many wait: the link must end.
  bool overflown() const { return overflown_; }

 private:
  struct Waiting {
    LinkMessage message;
    std::vector<Fd> fds;
  };
  std::deque<Waiting> waiting_;
  size_t fds_ = 0;  // of all that wait
  bool overflown_ = false;
};

}  // namespace rdmc
