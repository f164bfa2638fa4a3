#include <cstring>

#include "keyed.h"
#include "sockets.h"
#include "soft/tcp/frame.h"
#include "soft/tcp/greeting.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

constexpr uint8_t kHelloIsRight = 1, kTargetIsRight = 2, kTcpProofIsRight = 4, kTcpProofIsShort = 8;

struct KeyedTcpListener : KeyedVictim {
  KeyedTcpListener() : KeyedVictim("tcp"), qp(queuePair()) {}
  const uint32_t qp;
};

void repair(TcpHello& hello, uint8_t flags, const KeyedTcpListener& victim) {
  if (flags & kHelloIsRight) {
    hello.magic = kTcpMagic;
    hello.version = kTcpVersion;
    hello.flags = kTcpHasKey;
    hello.rnrRetries %= 8;
    hello.rnrTimerMs %= 656;
    hello.retryTimeoutMs %= 600'001;
  }
  if (flags & kTargetIsRight) {
    hello.target = victim.qp;
    hello.targetDevice = victim.device->id();
  }
}

void proveTo(const Fd& socket, const TcpHello& hello, const TcpReply& challenge, uint8_t flags, Input& input) {
  const TcpMac right = tcpProof(fuzzKey(), TcpRole::kInitiator, hello, challenge.bytes);
  const TcpMac proof = proofOf(right, flags & kTcpProofIsRight, input);
  if (flags & kTcpProofIsShort) return sendAll(socket, proof.data(), input.byte() % proof.size());
  sendAll(socket, proof.data(), proof.size());
  TcpReply answer{};
  // The device does not answer where this process was stopped for longer than a greeting may take.
  if (!receiveAll(socket, &answer, sizeof answer)) return;
  const bool refused = answer.kind == kTcpRefusal && answer.status == kTcpWrongKey;
  require(refused == (proof != right), "the device does not compare proofs");
}

}  // namespace

// Flags (1: magic, version, flags and numbers of the hello are right; 2: so are the device and the queue pair that it
// asks for; 4: so is the proof; 8: the proof ends early), the hello, where the proof is wrong its changed bits, and
// what follows.
void keyedTcpListener(const uint8_t* data, size_t size) {
  static auto* victim = new KeyedTcpListener;
  Input input(data, size);
  const uint8_t flags = input.byte();
  TcpHello hello{};
  input.fill(hello);
  repair(hello, flags, *victim);
  const Fd socket = dialLoopback(victim->device->tcpPort());
  sendAll(socket, &hello, sizeof hello);
  TcpReply reply{};
  if ((flags & kHelloIsRight) && receiveAll(socket, &reply, sizeof reply) && reply.kind == kTcpChallenge) {
    proveTo(socket, hello, reply, flags, input);
  }
  sendAll(socket, input.rest(), input.left());
  finish(socket);
}

}  // namespace rdmc::fuzz
