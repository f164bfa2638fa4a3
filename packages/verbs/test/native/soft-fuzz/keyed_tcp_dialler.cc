#include <chrono>
#include <cstring>
#include <future>

#include "keyed.h"
#include "sockets.h"
#include "soft/address.h"
#include "soft/tcp/frame.h"
#include "soft/tcp/greeting.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

constexpr uint8_t kChallengeIsRight = 1, kWelcomeIsRight = 2, kWelcomeProofIsRight = 4, kFirstIsShort = 8;

std::future<bool> dialFrom(const KeyedVictim& victim, uint32_t qp, uint16_t port) {
  SoftAddress hostile;
  hostile.device.fill(7);
  hostile.queuePair = 1;
  hostile.transport = "tcp";
  hostile.tcpHost = "127.0.0.1";
  hostile.tcpPort = port;
  auto done = std::make_shared<std::promise<bool>>();
  victim.device->connect(qp, hostile.fields(), ConnectParameters{7, 10, 2000},
                         [done](const Failure* failure) { done->set_value(failure == nullptr); });
  return done->get_future();
}

TcpReply replyOf(bool isRight, uint32_t kind, Input& input) {
  TcpReply reply{};
  input.fill(reply);
  if (!isRight) return reply;
  reply.magic = kTcpMagic;
  reply.version = kTcpVersion;
  reply.kind = kind;
  return reply;
}

// Greets the device that has dialled. Returns whether its proof of the key was right, if it may go on.
bool greetDialler(const Fd& socket, uint8_t flags, Input& input) {
  TcpHello hello{};
  if (!receiveAll(socket, &hello, sizeof hello)) return false;
  const TcpReply first = replyOf(flags & kChallengeIsRight, kTcpChallenge, input);
  // At least one byte: without any, the device dials again, which takes time.
  if (flags & kFirstIsShort) {
    sendAll(socket, &first, 1 + input.byte() % (sizeof first - 1));
    return false;
  }
  sendAll(socket, &first, sizeof first);
  uint8_t proof[kTcpMacBytes];
  if (!(flags & kChallengeIsRight) || !receiveAll(socket, proof, sizeof proof)) return false;
  require(tcpSameProof(proof, tcpProof(fuzzKey(), TcpRole::kInitiator, hello, first.bytes)),
          "the device does not prove its key");
  TcpReply second = replyOf(flags & kWelcomeIsRight, kTcpWelcome, input);
  const TcpMac right = tcpProof(fuzzKey(), TcpRole::kListener, hello, first.bytes);
  if (flags & kWelcomeProofIsRight) std::memcpy(second.bytes, right.data(), right.size());
  sendAll(socket, &second, sizeof second);
  return std::memcmp(second.bytes, right.data(), right.size()) == 0;
}

}  // namespace

// Flags (1: the first reply is a challenge; 2: the second one is a welcome; 4: with the right proof; 8: the first reply
// ends early), the replies, and what follows as answers.
void keyedTcpDialler(const uint8_t* data, size_t size) {
  static auto* victim = new KeyedVictim("tcp");
  static HostileListener listener;
  Input input(data, size);
  const uint8_t flags = input.byte();
  const uint32_t qp = victim->queuePair();
  std::future<bool> done = dialFrom(*victim, qp, listener.port);
  const Fd socket = listener.accept();
  const bool proved = greetDialler(socket, flags, input);
  sendAll(socket, input.rest(), input.left());
  finish(socket);
  require(done.wait_for(std::chrono::milliseconds(kLimitMs)) == std::future_status::ready, "a connect does not end");
  require(!done.get() || proved, "the device connects to a peer that did not prove the key");
  victim->device->destroyQueuePair(qp);
}

}  // namespace rdmc::fuzz
