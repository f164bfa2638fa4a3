// Plain sockets of the hostile side. Every wait has a limit; what ends late is a failure of the device.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>

#include "core/raii.h"
#include "soft/shm/socket.h"

namespace rdmc::fuzz {

constexpr int kLimitMs = 120'000;  // for what hangs

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "soft-fuzz: %s\n", what);
  std::abort();
}

inline Fd dialLoopback(uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0, "cannot connect to the device");
  return socket;
}

inline Fd dialLink(const DeviceId& device) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = abstractAddress(shmSocketName(device), address);
  require(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "cannot connect to the device");
  return socket;
}

inline Fd acceptFrom(const Fd& listener) {
  pollfd waiting{listener.get(), POLLIN, 0};
  require(::poll(&waiting, 1, kLimitMs) > 0, "the device does not dial");
  return Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

struct HostileListener {
  HostileListener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof own;
    require(::bind(socket.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) == 0 &&
                ::listen(socket.get(), 16) == 0 &&
                ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) == 0,
            "cannot listen");
    port = ntohs(own.sin_port);
  }
  Fd accept() const { return acceptFrom(socket); }
  Fd socket;
  uint16_t port = 0;
};

inline void sendAll(const Fd& socket, const void* bytes, size_t length) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  while (length > 0) {
    const ssize_t sent = ::send(socket.get(), from, length, MSG_NOSIGNAL);
    if (sent <= 0) return;  // the device has had enough
    from += sent;
    length -= size_t(sent);
  }
}

// Exactly `length` bytes; false when the other side ends before.
inline bool receiveAll(const Fd& socket, void* bytes, size_t length) {
  auto* to = static_cast<uint8_t*>(bytes);
  while (length > 0) {
    pollfd waiting{socket.get(), POLLIN, 0};
    require(::poll(&waiting, 1, kLimitMs) > 0, "the device neither answers nor ends the connection");
    const ssize_t got = ::recv(socket.get(), to, length, 0);
    if (got <= 0) return false;
    to += got;
    length -= size_t(got);
  }
  return true;
}

// Ends our half, and waits until the device has ended the other.
inline void finish(const Fd& socket) {
  ::shutdown(socket.get(), SHUT_WR);
  uint8_t scrap[4096];
  while (receiveAll(socket, scrap, 1)) {
  }
}

}  // namespace rdmc::fuzz
