#include "soft/tcp/socket.h"

#include <netdb.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/failure.h"
#include "soft/tcp/frame.h"

namespace rdmc {
namespace {

// A peer whose host is gone: several probes must be lost, because full queues drop one occasionally.
constexpr int kKeepAliveIdleS = 5;
constexpr int kKeepAliveIntervalS = 5;
constexpr int kKeepAliveProbes = 5;
constexpr uint32_t kSilentHostMs = 30'000;

std::vector<TcpEndpoint> lookUp(const std::string& host, uint16_t port, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  std::vector<TcpEndpoint> endpoints;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    why = error == EAI_SYSTEM ? errorText(errno) : ::gai_strerror(error);
    return endpoints;
  }
  for (const addrinfo* each = found; each; each = each->ai_next) {
    TcpEndpoint endpoint;
    std::memcpy(&endpoint.address, each->ai_addr, each->ai_addrlen);
    endpoint.length = each->ai_addrlen;
    endpoints.push_back(endpoint);
  }
  ::freeaddrinfo(found);
  return endpoints;
}

void setOption(const Fd& socket, int level, int name, int value) {
  ::setsockopt(socket.get(), level, name, &value, sizeof value);
}

Failure listenFailure(const char* syscall, const std::string& host, uint16_t port, int err) {
  std::string what = "Listening on " + tcpHostPort(host, port);
  if (err == EADDRINUSE) what += " (another program holds this port: choose another, or 0 for any)";
  if (err == EADDRNOTAVAIL) what += " (no interface of this machine has this address)";
  return systemFailure(syscall, what, err);
}

}  // namespace

std::string tcpHostPort(const std::string& host, uint16_t port) {
  const bool colons = host.find(':') != std::string::npos;
  return (colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::vector<TcpEndpoint> tcpNumericAddress(const std::string& host, uint16_t port) {
  std::string why;
  return lookUp(host, port, AI_NUMERICHOST, why);
}

std::vector<TcpEndpoint> tcpResolve(const std::string& host, uint16_t port, std::string& why) {
  return lookUp(host, port, 0, why);
}

Fd tcpListen(const std::string& host, uint16_t port) {
  std::string why;
  const auto endpoints = lookUp(host, port, AI_PASSIVE, why);
  if (endpoints.empty()) {
    throw Failure(
        "ERR_RDMC_SYSTEM",
        "Listening on " + tcpHostPort(host, port) + ": no such address: " + why + "; give an address of this machine",
        EADDRNOTAVAIL, "getaddrinfo");
  }
  const TcpEndpoint& endpoint = endpoints.front();
  Fd socket = tcpSocket(endpoint.address.ss_family);
  if (!socket.valid()) throw listenFailure("socket", host, port, errno);
  setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length) != 0) {
    throw listenFailure("bind", host, port, errno);
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) throw listenFailure("listen", host, port, errno);
  return socket;
}

uint16_t tcpLocalPort(const Fd& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::array<uint8_t, 16> tcpPeerAddress(const Fd& socket) {
  std::array<uint8_t, 16> out{};
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return out;
  if (address.ss_family == AF_INET6) {
    const in6_addr& from = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const size_t significant = IN6_IS_ADDR_V4MAPPED(&from) || IN6_IS_ADDR_LOOPBACK(&from) ? 16 : 8;
    std::memcpy(out.data(), &from, significant);
  } else {
    std::memcpy(out.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  }
  return out;
}

Fd tcpSocket(int family) { return Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

void tcpSetRequesterOptions(const Fd& socket, uint32_t retryTimeoutMs) {
  setOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // Unsent bytes lie in front of other queue pairs' bytes: there must be few.
  setOption(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, int(kTcpNotSentBytes));
  // Keep-alive is not used: with a shorter user time-out, the kernel ends an idle connection after one lost probe.
  tcpSetUserTimeout(socket, retryTimeoutMs);
}

void tcpSetResponderOptions(const Fd& socket) {
  setOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, int(kTcpNotSentBytes));
  setOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleS);
  setOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalS);
  setOption(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  tcpSetUserTimeout(socket, kSilentHostMs);
}

void tcpSetTrafficClass(const Fd& socket, uint32_t trafficClass) {
  if (trafficClass == 0) return;
  // A socket for IPv6 has both: it may be connected to an IPv4 address.
  setOption(socket, IPPROTO_IP, IP_TOS, int(trafficClass));
  setOption(socket, IPPROTO_IPV6, IPV6_TCLASS, int(trafficClass));
}

void tcpSetUserTimeout(const Fd& socket, uint32_t timeoutMs) {
  // Below a second a lost segment could not be sent again in time.
  setOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, timeoutMs == 0 ? 0 : int(std::max(timeoutMs, 1000u)));
}

TcpMoved tcpReceive(int socket, iovec* pieces, int count, size_t& bytes) {
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = size_t(count);
  for (;;) {
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT);
    if (got > 0) {
      bytes = size_t(got);
      return TcpMoved::kSome;
    }
    if (got == 0) return TcpMoved::kEnd;
    if (errno == EINTR) continue;
    return errno == EAGAIN ? TcpMoved::kNothing : TcpMoved::kEnd;
  }
}

TcpMoved tcpSend(int socket, iovec* pieces, int count, size_t& bytes) {
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = size_t(count);
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = size_t(sent);
      return TcpMoved::kSome;
    }
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? TcpMoved::kNothing : TcpMoved::kEnd;
  }
}

}  // namespace rdmc
