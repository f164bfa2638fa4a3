#include "soft/shm/link_message.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rdmc {

LinkSent sendLinkMessage(int socket, const LinkMessage& message, const int* fds, int fdCount) {
  iovec data{const_cast<LinkMessage*>(&message), sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (fdCount > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * size_t(fdCount));
    cmsghdr* attached = CMSG_FIRSTHDR(&header);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof(int) * size_t(fdCount));
    std::memcpy(CMSG_DATA(attached), fds, sizeof(int) * size_t(fdCount));
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t(sizeof message)) return LinkSent::kYes;
    if (errno == EINTR) continue;
    // ETOOMANYREFS: others of this user have too many descriptors on their way.
    const bool room = errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM && errno != ETOOMANYREFS;
    return room ? LinkSent::kBroken : LinkSent::kNoRoom;
  }
}

int receiveLinkMessage(int socket, LinkMessage& message, std::vector<Fd>& fds) {
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  // The sender of a short or truncated message is not a device.
  return got == ssize_t(sizeof message) ? 1 : -1;
}

}  // namespace rdmc
