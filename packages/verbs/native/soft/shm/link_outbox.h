// Messages for a peer's service thread that do not fit into its socket: a stopped peer does not read, and the kernel
// keeps about 270. They are sent in order as soon as they fit, with duplicates of their descriptors. When a peer does
// not read until the limits are reached, its link ends.
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
  // Sends what fits into the socket.
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
