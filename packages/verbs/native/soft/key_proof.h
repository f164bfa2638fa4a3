// Proofs of a shared key: nonces, HMAC-SHA256, comparison in constant time.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmc {

constexpr size_t kNonceBytes = 32;
constexpr size_t kMacBytes = 32;
using Nonce = std::array<uint8_t, kNonceBytes>;
using Mac = std::array<uint8_t, kMacBytes>;

// From the kernel's generator. Throws Failure.
void freshNonce(uint8_t (&nonce)[kNonceBytes]);
// `message` begins with a label of fixed length that no other use of the key has. Throws Failure.
Mac keyProof(const std::vector<uint8_t>& key, const std::string& message);
bool sameProof(const uint8_t* left, const Mac& right);  // in constant time

}  // namespace rdmc
