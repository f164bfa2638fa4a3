#include <cstring>

#include "keyed.h"
#include "link_input.h"
#include "soft/shm/greeting.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

constexpr uint8_t kLinkHelloIsRight = 1, kLinkProofIsRight = 2, kAnotherComes = 4;

struct KeyedLinkVictim : KeyedVictim {
  KeyedLinkVictim() : KeyedVictim("shm") { queuePair(); }  // the first one: messages can ask for it
};

// Answers the device's challenge. Returns whether the device may admit us.
bool proveByLink(const Fd& socket, const ShmGreeting& greeting, uint8_t flags, Input& input) {
  const Mac right = shmProof(fuzzKey(), ShmRole::kInitiator, greeting);
  const Mac proof = proofOf(right, flags & kLinkProofIsRight, input);
  LinkMessage message = linkMessage(flags & kAnotherComes ? kGetArena : kProof);
  std::memcpy(message.proof.bytes, proof.data(), proof.size());
  sendLinkMessage(socket.get(), message);
  return message.type == kProof && proof == right;
}

void greetListener(const Fd& socket, const DeviceId& victim, uint8_t flags, Input& input) {
  LinkMessage hello{};
  input.fill(hello);
  if (flags & kLinkHelloIsRight) {
    hello.type = kHello;
    hello.hello.version = kControlVersion;
    hello.hello.keyed = 1;
  }
  ShmGreeting greeting;
  greeting.initiator = hello.hello.device;
  greeting.listener = victim;
  std::memcpy(greeting.initiatorNonce, hello.hello.secret, kNonceBytes);
  sendLinkMessage(socket.get(), hello);
  LinkMessage answer{};
  std::vector<Fd> fds;
  if (!awaitMessage(socket, answer, fds)) return;
  require(answer.type != kHello && fds.empty(), "the device admits without a proof");
  if (answer.type != kChallenge) return;
  std::memcpy(greeting.listenerNonce, answer.challenge.bytes, kNonceBytes);
  const bool proved = proveByLink(socket, greeting, flags, input);
  // The device does not answer where this process was stopped for longer than a greeting may take.
  if (!awaitMessage(socket, answer, fds)) return;
  require((answer.type == kHello && fds.size() == 1) == proved, "the device does not compare proofs");
}

}  // namespace

// Flags (1: type, version and key of the hello are right; 2: so is the proof; 4: another message comes in its place),
// the hello, where the proof is wrong its changed bits, and messages (see link_input.h).
void keyedLink(const uint8_t* data, size_t size) {
  static auto* victim = new KeyedLinkVictim;
  Input input(data, size);
  const uint8_t flags = input.byte();
  const Fd socket = dialLink(victim->device->id());
  greetListener(socket, victim->device->id(), flags, input);
  sendMessages(socket, input);
  finish(socket);
}

}  // namespace rdmc::fuzz
