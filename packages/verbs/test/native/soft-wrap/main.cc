// Receives around the end of the 32 bits that count them:
//   soft-wrap shm|tcp
// Ends with 0, or with 3 where the device did wrong.
#include <cstring>

#include "side.h"
#include "soft/shm/wire.h"

namespace rdmc {

// Puts the counters of a connected pair, which has not received anything, where they are after that many receives.
struct ReceiveCounters {
  static void begin(QueuePair& receiver, QueuePair& sender, uint32_t at) {
    receiver.receivesPosted_ = receiver.receivesConsumed_ = at;
    receiver.count_ = ReceiveCount(at);
    receiver.shared().receivesPosted = at;
    receiver.shared().produced = at;
    if (auto* wire = dynamic_cast<ShmWire*>(sender.wire().get())) wire->produced_ = at;
  }
};

namespace driver {
namespace {

// Of which 2^32 is not a multiple.
constexpr uint32_t kDepth = 3;
constexpr uint32_t kBytes = 8;
constexpr uint64_t kMessages = 4 * kDepth, kAllBytes = kMessages * kBytes;

// a sends to b; the counters wrap after `before` receives.
struct Pair {
  Pair(const std::string& transport, uint32_t before) : a(transport), b(transport, 256, kDepth) {
    connectBoth(a, a.qp, b, b.qp);
    ReceiveCounters::begin(*b.device->qpAt(b.qp), *a.device->qpAt(a.qp), 0 - before);
  }
  void postReceive(uint64_t id) {
    WorkRequestSlot slot = request(kReceive, b.qp, id);
    local(slot, into, id * kBytes, kBytes);
    post(b, slot);
  }
  void send(uint64_t id) {
    std::memset(from.data(), int(id + 1), kBytes);
    WorkRequestSlot slot = request(kSendWithImm, a.qp, id);
    slot.immediate = uint32_t(id);
    local(slot, from, 0, kBytes);
    post(a, slot);
    take(a, 1, succeeded);
  }
  void expectMessage(uint64_t id) {
    take(b, 1, [&](const CompletionSlot& completion) {
      succeeded(completion);
      expect(completion.idLow == id && completion.immediate == id, "messages in order, each for its receive");
    });
    for (uint32_t i = 0; i < kBytes; ++i) expect(into.data()[id * kBytes + i] == id + 1, "a message where it belongs");
  }
  // Closing them fails where a receive was lost, because it still uses its region.
  void close() {
    b.device->closeRegion(into.index);
    a.device->closeRegion(from.index);
    b.device->close();
    a.device->close();
  }
  Side a, b;
  const Memory from{*a.device, a.pd, kBytes}, into{*b.device, b.pd, kAllBytes};
};

// All messages wait at the receiver before the first is polled.
void wholeQueues(const std::string& transport, uint32_t before) {
  Pair pair(transport, before);
  for (uint64_t first = 0; first < kMessages; first += kDepth) {
    for (uint64_t id = first; id < first + kDepth; ++id) pair.postReceive(id);
    WorkRequestSlot more = request(kReceive, pair.b.qp, 0);
    expect(pair.b.device->post(&more, 1) == 1 && more.result == kQueueFull, "no more receives than were asked for");
    for (uint64_t id = first; id < first + kDepth; ++id) pair.send(id);
    for (uint64_t id = first; id < first + kDepth; ++id) pair.expectMessage(id);
  }
  pair.close();
}

// Two receives have a message, of which one is polled, when the queue pair breaks.
void broken(const std::string& transport, uint32_t before) {
  Pair pair(transport, before);
  for (uint64_t id = 0; id < kDepth; ++id) pair.postReceive(id);
  pair.send(0);
  pair.send(1);
  pair.expectMessage(0);
  pair.b.device->failQueuePair(pair.b.qp);
  pair.expectMessage(1);
  take(pair.b, 1, [](const CompletionSlot& last) {
    expect(last.status == kFlushed && last.idLow == kDepth - 1, "the last receive to be flushed");
  });
  pair.close();
}

// A request that waits for each of the receives runs after its receive, and not before.
void awaited(const std::string& transport, uint32_t before) {
  Pair pair(transport, before);
  const uint64_t begin = uint32_t(0 - before);
  for (uint64_t id = 0; id < kDepth; ++id) {
    pair.postReceive(id);
    expect(pair.b.device->qpAt(pair.b.qp)->awaited(begin + id + 1) == QueuePair::Awaited::kNotYet, "nothing yet");
    pair.send(id);
    expect(pair.b.device->qpAt(pair.b.qp)->awaited(begin + id + 1) == QueuePair::Awaited::kCame, "what came");
  }
  for (uint64_t id = 0; id < kDepth; ++id) pair.expectMessage(id);
  pair.close();
}

}  // namespace
}  // namespace driver
}  // namespace rdmc

int main(int count, char** arguments) {
  using namespace rdmc::driver;
  if (count != 2) stop("usage: soft-wrap shm|tcp");
  for (uint32_t before = 0; before <= kDepth; ++before) {
    wholeQueues(arguments[1], before);
    broken(arguments[1], before);
    awaited(arguments[1], before);
  }
  std::printf("soft-wrap: %s passed\n", arguments[1]);
  return 0;
}
