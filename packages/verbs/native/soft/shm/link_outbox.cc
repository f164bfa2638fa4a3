#include "soft/shm/link_outbox.h"

#include <fcntl.h>

namespace rdmc {
namespace {

// A peer that is stopped misses two messages for each of our queue pairs at most, and its own requests are not read
// before it has read the answers, so that few descriptors wait.
constexpr size_t kMaxWaiting = size_t{2} * kMaxQps;
constexpr size_t kMaxWaitingFds = 256;

}  // namespace

bool LinkOutbox::send(int socket, const LinkMessage& message, const int* fds, int fdCount) {
  if (waiting_.empty()) {
    const LinkSent sent = sendLinkMessage(socket, message, fds, fdCount);
    if (sent != LinkSent::kNoRoom) return sent == LinkSent::kYes;
  }
  overflown_ |= waiting_.size() >= kMaxWaiting || fds_ + size_t(fdCount) > kMaxWaitingFds;
  if (overflown_) return false;
  fds_ += size_t(fdCount);
  Waiting later{message, {}};
  // The caller may close its descriptors before these go out.
  for (int i = 0; i < fdCount; ++i) later.fds.emplace_back(::fcntl(fds[i], F_DUPFD_CLOEXEC, 0));
  waiting_.push_back(std::move(later));
  return true;
}

void LinkOutbox::flush(int socket) {
  while (!waiting_.empty()) {
    const Waiting& next = waiting_.front();
    int fds[4];
    int count = 0;
    for (const Fd& fd : next.fds) {
      if (fd.valid()) fds[count++] = fd.get();
    }
    const LinkSent sent = sendLinkMessage(socket, next.message, fds, count);
    if (sent == LinkSent::kNoRoom) return;
    if (sent == LinkSent::kBroken) {
      fds_ = 0;
      return waiting_.clear();
    }
    fds_ -= next.fds.size();
    waiting_.pop_front();
  }
}

}  // namespace rdmc
