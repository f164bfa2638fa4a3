// Messages of the Unix socket's protocol out of an input.
#pragma once
#include <sys/mman.h>

#include "input.h"
#include "sockets.h"
#include "soft/shm/link_message.h"

namespace rdmc::fuzz {

// One byte (bits 6 and 7: the target's own; bits 4-5: descriptors; bits 0-3: bytes cut off), then up to 72 bytes.
struct LinkInput {
  uint8_t head;
  LinkMessage message;
  explicit LinkInput(Input& input) : head(input.byte()) {
    input.fill(message);
    // Types from 1 to 15, or messages would mostly be unknown.
    message.type &= 15;
  }
  bool cut() const { return (head & 15) > 0; }
  int descriptors() const { return head >> 4 & 3; }
  void sendCut(const Fd& socket) const { ::send(socket.get(), &message, sizeof message - (head & 15), MSG_NOSIGNAL); }
};

// A file of another size than any that a device expects, and without seals.
inline Fd fileOfOtherKind() {
  Fd file(::memfd_create("rdmc-fuzz", MFD_CLOEXEC));
  require(::ftruncate(file.get(), 4096) == 0, "cannot size a file");
  return file;
}

// What is left of an input, as messages with descriptors of no use.
inline void sendMessages(const Fd& socket, Input& input) {
  static const Fd file = fileOfOtherKind();
  const int fds[3] = {file.get(), file.get(), file.get()};
  while (!input.ended()) {
    const LinkInput next(input);
    if (next.cut()) {
      next.sendCut(socket);
    } else {
      sendLinkMessage(socket.get(), next.message, fds, next.descriptors());
    }
  }
}

// The next message, with the descriptors that came with it; false when the other side has ended.
inline bool awaitMessage(const Fd& socket, LinkMessage& message, std::vector<Fd>& fds) {
  for (;;) {
    pollfd waiting{socket.get(), POLLIN, 0};
    require(::poll(&waiting, 1, kLimitMs) > 0, "the device neither answers nor ends the connection");
    const int got = receiveLinkMessage(socket.get(), message, fds);
    if (got != 0) return got > 0;
  }
}

}  // namespace rdmc::fuzz
