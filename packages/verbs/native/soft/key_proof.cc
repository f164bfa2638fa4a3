#include "soft/key_proof.h"

#include <sys/random.h>

#include <cerrno>

#include "core/failure.h"
#include "soft/libcrypto.h"

namespace rdmc {

void freshNonce(uint8_t (&nonce)[kNonceBytes]) {
  if (::getrandom(nonce, sizeof nonce, 0) != ssize_t(sizeof nonce)) {
    throw systemFailure("getrandom", "Making a challenge", errno);
  }
}

Mac keyProof(const std::vector<uint8_t>& key, const std::string& message) {
  Mac mac{};
  unsigned length = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(message.data());
  if (!::HMAC(::EVP_sha256(), key.data(), int(key.size()), bytes, message.size(), mac.data(), &length) ||
      length != mac.size()) {
    throw Failure("ERR_RDMC_SYSTEM", "HMAC-SHA256 is not available in this build of Node.js");
  }
  return mac;
}

bool sameProof(const uint8_t* left, const Mac& right) { return ::CRYPTO_memcmp(left, right.data(), right.size()) == 0; }

}  // namespace rdmc
