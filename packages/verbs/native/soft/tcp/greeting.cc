#include "soft/tcp/greeting.h"

#include <string>

namespace rdmc {

void tcpNonce(uint8_t (&nonce)[kTcpNonceBytes]) { freshNonce(nonce); }

TcpMac tcpProof(const std::vector<uint8_t>& key, TcpRole role, const TcpHello& hello, const uint8_t* listenerNonce) {
  std::string message = role == TcpRole::kInitiator ? "rdmc-tcp-1 initiator" : "rdmc-tcp-1 listener";
  message.append(reinterpret_cast<const char*>(&hello), sizeof hello);
  message.append(reinterpret_cast<const char*>(listenerNonce), kTcpNonceBytes);
  return keyProof(key, message);
}

bool tcpSameProof(const uint8_t* left, const TcpMac& right) { return sameProof(left, right); }

}  // namespace rdmc
