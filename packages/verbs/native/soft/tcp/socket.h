// Sockets of the TCP transport: addresses, options, and reads and writes that never block.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/raii.h"

namespace rdmc {

struct TcpEndpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

std::string tcpHostPort(const std::string& host, uint16_t port);

// Numeric addresses only, so that it never blocks; empty when `host` is a name.
std::vector<TcpEndpoint> tcpNumericAddress(const std::string& host, uint16_t port);
// Names too; may take seconds. Empty with the reason in `why` when there is none.
std::vector<TcpEndpoint> tcpResolve(const std::string& host, uint16_t port, std::string& why);

// Throws Failure ERR_RDMC_SYSTEM with errno and the address.
Fd tcpListen(const std::string& host, uint16_t port);
uint16_t tcpLocalPort(const Fd& socket);

// Where a connection comes from: an IPv4 address, or the network part of an IPv6 address, which belongs to one host.
std::array<uint8_t, 16> tcpPeerAddress(const Fd& socket);

Fd tcpSocket(int family);  // invalid with errno
// For the side that sends requests: unacknowledged ones end the connection after `retryTimeoutMs`; one that is idle
// is left alone.
void tcpSetRequesterOptions(const Fd& socket, uint32_t retryTimeoutMs);
// For the side that waits for requests: the connection ends after half a minute without an answer of the peer's host.
void tcpSetResponderOptions(const Fd& socket);
// Of all packets of the connection; the two bits of congestion notification stay the system's (RFC 3168).
void tcpSetTrafficClass(const Fd& socket, uint32_t trafficClass);
// How long sent bytes, or a closed window, may stay without progress; 0: the system's own limits.
void tcpSetUserTimeout(const Fd& socket, uint32_t timeoutMs);

enum class TcpMoved { kSome, kNothing, kEnd };
// kNothing: would block. kEnd: the peer closed, or the connection broke.
TcpMoved tcpReceive(int socket, iovec* pieces, int count, size_t& bytes);
TcpMoved tcpSend(int socket, iovec* pieces, int count, size_t& bytes);

}  // namespace rdmc
