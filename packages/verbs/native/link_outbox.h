// Messages for a peer's service thread that its socket has no room for: a stopped peer reads none, and the kernel
// keeps some 270. They go out in order, each when there is room again, with descriptors of their own.
#pragma once
#include <deque>
#include <vector>

#include "link_message.h"
#include "raii.h"

namespace rdmc {

class LinkOutbox {
 public:
  // False: the socket is broken.
  bool send(int socket, const LinkMessage& message, const int* fds = nullptr, int fdCount = 0);
  // Sends what there is room for.
  void flush(int socket);
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    LinkMessage message;
    std::vector<Fd> fds;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace rdmc
