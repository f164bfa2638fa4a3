#include "tcp_greeting.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "failure.h"

namespace rdmc {

void tcpNonce(uint8_t (&nonce)[kTcpNonceBytes]) {
  if (::getrandom(nonce, sizeof nonce, 0) != ssize_t(sizeof nonce)) {
    throw systemFailure("getrandom", "Making a challenge", errno);
  }
}

TcpMac tcpProof(const std::vector<uint8_t>& key, TcpRole role, const TcpHello& hello, const uint8_t* listenerNonce) {
  const std::string_view label = role == TcpRole::kInitiator ? "rdmc-tcp-1 initiator" : "rdmc-tcp-1 listener";
  std::string message(label);
  message.append(reinterpret_cast<const char*>(&hello), sizeof hello);
  message.append(reinterpret_cast<const char*>(listenerNonce), kTcpNonceBytes);
  TcpMac mac{};
  unsigned length = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(message.data());
  if (!::HMAC(::EVP_sha256(), key.data(), int(key.size()), bytes, message.size(), mac.data(), &length) ||
      length != mac.size()) {
    throw Failure("ERR_RDMC_SYSTEM", "HMAC-SHA256 is not available in this build of Node.js");
  }
  return mac;
}

bool tcpSameProof(const uint8_t* left, const TcpMac& right) {
  return ::CRYPTO_memcmp(left, right.data(), right.size()) == 0;
}

}  // namespace rdmc
