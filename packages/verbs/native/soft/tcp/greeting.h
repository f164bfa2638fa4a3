// What both sides of a greeting compute: nonces and proofs of the shared key. See soft/tcp/frame.h.
#pragma once
#include <cstdint>
#include <vector>

#include "soft/key_proof.h"
#include "soft/tcp/frame.h"

namespace rdmc {

using TcpMac = Mac;
static_assert(kTcpMacBytes == kMacBytes && kTcpNonceBytes == kNonceBytes);

enum class TcpRole { kInitiator, kListener };

void tcpNonce(uint8_t (&nonce)[kTcpNonceBytes]);  // throws Failure
// Binds the role, both device ids, both queue pairs and both nonces.
TcpMac tcpProof(const std::vector<uint8_t>& key, TcpRole role, const TcpHello& hello, const uint8_t* listenerNonce);
bool tcpSameProof(const uint8_t* left, const TcpMac& right);  // in constant time

}  // namespace rdmc
