#include "soft/peer_bells.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/failure.h"

namespace rdmc {
namespace {

constexpr int kRingsAtOnce =
    64;  // a peer that rings without end must not block this thread; epoll reports again what is left

int option(int fd, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

}  // namespace

int PeerBells::endFor(uint64_t link) {
  std::lock_guard guard(mutex_);
  if (const auto found = bells_.find(link); found != bells_.end()) return found->second.theirs.get();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    throw systemFailure("socketpair", "Handing out a way to wake us", errno);
  }
  Bell bell{Fd(ends[0]), Fd(ends[1])};
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = ends[0];
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ends[0], &event) != 0) {
    throw systemFailure("epoll_ctl", "Handing out a way to wake us", errno);
  }
  bells_.emplace(link, std::move(bell));
  return ends[1];
}

bool PeerBells::remove(uint64_t link) {
  std::lock_guard guard(mutex_);
  return bells_.erase(link) > 0;
}

void PeerBells::silence(int fd) {
  std::lock_guard guard(mutex_);  // the number of a closed end may belong to another file now
  const bool known =
      std::any_of(bells_.begin(), bells_.end(), [&](const auto& each) { return each.second.ours.get() == fd; });
  uint8_t scrap;
  for (int i = 0; known && i < kRingsAtOnce; ++i) {
    if (::recv(fd, &scrap, sizeof scrap, MSG_DONTWAIT) < 0 && errno != EINTR) return;
  }
}

bool PeerBells::isBell(const Fd& fd) {
  return option(fd.get(), SO_DOMAIN) == AF_UNIX && option(fd.get(), SO_TYPE) == SOCK_DGRAM;
}

void PeerBells::ring(int fd) {
  const uint8_t one = 1;
  [[maybe_unused]] const auto sent = ::send(fd, &one, sizeof one, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace rdmc
