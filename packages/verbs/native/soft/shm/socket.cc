#include "soft/shm/socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "core/hex.h"

namespace rdmc {

std::string shmSocketName(const DeviceId& id) { return "rdmc-soft-" + toHex(id); }

socklen_t abstractAddress(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

namespace {

bool credentials(int socket, ucred& peer) {
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
}

}  // namespace

bool sameUser(int socket) {
  ucred peer{};
  return credentials(socket, peer) && peer.uid == ::geteuid();
}

pid_t peerProcess(int socket) {
  ucred peer{};
  return credentials(socket, peer) ? peer.pid : 0;
}

}  // namespace rdmc
