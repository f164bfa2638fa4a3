// The soft device when system calls fail, memory runs out, and peers stop or change their minds at the worst moment:
//   soft-faults CASE
// Ends with 0, or with 3 where the device did wrong.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <map>

#include "faults.h"
#include "side.h"
#include "soft/peer_bells.h"
#include "soft/shm/link_outbox.h"
#include "soft/shm/wire.h"
#include "soft/tcp/input.h"

namespace rdmc::driver {
namespace {

constexpr uint32_t kBytes = 64;
constexpr uint32_t kRegionBytes = 256 << 10;
constexpr size_t kPageBytes = 4096;

// Two devices with a connected queue pair each; a writes to, reads from and sends to what b has registered.
struct Pair {
  Pair() {
    connectBoth(a, a.qp, b, b.qp);
    std::memset(from.data(), 0x22, kRegionBytes);
    std::memset(into.data(), 0x11, kRegionBytes);
  }
  const PeerLink& link() { return *dynamic_cast<ShmWire&>(*a.device->qpAt(a.qp)->wire()).link(); }
  // What b says of its queue pair and its region, as b sees it.
  SharedQp& page() { return b.device->qpAt(b.qp)->shared(); }
  SharedRegion& region() { return b.device->control().region(RegionTable::indexOf(into.index)); }
  // The same queue pair's page, and the beginning of the region, as a sees them.
  SharedQp& pageAtPeer() { return link().control().qp(b.qp & (kMaxQps - 1)); }
  uint8_t* memoryAtPeer() {
    const auto arena = const_cast<PeerLink&>(link()).arena(region().arena);
    expect(arena != nullptr, "the initiator to have mapped the region");
    return arena->memory.data() + region().arenaOffset;
  }
  uint32_t run(Opcode opcode) {
    WorkRequestSlot slot = request(opcode, a.qp, 1);
    local(slot, from, 0, opcode == kFetchAndAdd ? 8 : kBytes);
    if (opcode != kSend) remote(slot, into, 0);
    post(a, slot);
    uint32_t status = 0;
    take(a, 1, [&](const CompletionSlot& completion) { status = completion.status; });
    return status;
  }
  void postReceive(uint64_t id) {
    WorkRequestSlot slot = request(kReceive, b.qp, id);
    local(slot, into, 0, kBytes);
    post(b, slot);
  }
  void pretendStopped() {
    pageAtPeer().busyRegion.store(RegionTable::indexOf(into.index));
    pageAtPeer().busy.store(1);
  }
  void close() {
    a.device->close();
    b.device->close();
  }
  Side a{"shm"}, b{"shm"};
  const Memory from{*a.device, a.pd, kRegionBytes}, into{*b.device, b.pd, kRegionBytes};
};

template <typename Call>
std::string codeOf(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.code;
  }
  return "";
}

void expectStatus(uint32_t status, uint32_t wanted) {
  if (status != wanted) stop("status " + std::to_string(status) + ", not " + std::to_string(wanted));
}

// The target takes permission away after the initiator has looked, and before it says that it is busy: the target does
// not wait for it, so not one byte may change.
void stateAfterBusy() {
  for (const Opcode opcode : {kWrite, kFetchAndAdd, kSend}) {
    Pair pair;
    expectStatus(pair.run(kWrite), kSuccess);
    pair.postReceive(1);
    std::memset(pair.into.data(), 0x11, kBytes);
    const faults::Trap trap(&pair.pageAtPeer(), kPageBytes, PROT_READ,
                            [&state = pair.page().state] { state.store(kError); });
    expectStatus(pair.run(opcode), kRetryExceeded);
    expect(trap.sprung(), "the initiator to say that it is busy");
    for (uint32_t i = 0; i < kBytes; ++i) expect(pair.into.data()[i] == 0x11, "no change after a barrier");
    pair.close();
  }
}

// The target takes the region, or the queue pair, away in the middle of a copy: the request must not succeed.
void copiesLand() {
  const std::map<Opcode, uint32_t> withoutKey = {{kWrite, kRemoteAccessError},
                                                 {kRead, kRemoteAccessError},
                                                 {kFetchAndAdd, kRemoteOperationError},
                                                 {kSend, kRemoteOperationError}};
  for (const auto& [opcode, status] : withoutKey) {
    for (const bool wholePair : {false, true}) {
      Pair pair;
      expectStatus(pair.run(kWrite), kSuccess);
      pair.postReceive(1);
      const int allowed = opcode == kRead ? PROT_NONE : PROT_READ;
      const faults::Trap trap(pair.memoryAtPeer(), kPageBytes, allowed,
                              [wholePair, &state = pair.page().state, &key = pair.region().key] {
                                wholePair ? state.store(kError) : key.store(0);
                              });
      expectStatus(pair.run(opcode), wholePair && opcode != kFetchAndAdd ? uint32_t(kRetryExceeded) : status);
      expect(trap.sprung(), "the initiator to copy");
      expect(pair.page().produced.load() == 0, "nothing published");
      pair.close();
    }
  }
}

// A region that is given fresh memory for ever, and one that comes back in time.
void retriesEnd() {
  constexpr uint32_t kTimeoutMs = 200;
  Side a("shm"), b("shm");
  std::promise<void> connected[2];
  const auto connect = [](Side& side, const AddressFields& to, std::promise<void>& done) {
    side.device->connect(side.qp, to, ConnectParameters{7, 10, kTimeoutMs},
                         [&done](const Failure*) { done.set_value(); });
  };
  connect(a, b.address(b.qp), connected[0]);
  connect(b, a.address(a.qp), connected[1]);
  for (auto& each : connected) each.get_future().wait();
  const Memory from(*a.device, a.pd, 4096), into(*b.device, b.pd, 4096);
  auto& moving = b.device->control().region(RegionTable::indexOf(into.index)).moving;
  const auto write = [&] {
    WorkRequestSlot slot = request(kWrite, a.qp, 1);
    local(slot, from, 0, kBytes);
    remote(slot, into, 0);
    post(a, slot);
  };
  uint32_t status = 0;
  const auto note = [&](const CompletionSlot& completion) { status = completion.status; };
  moving = 1;
  write();
  moving = 0;
  take(a, 1, note);
  expectStatus(status, kSuccess);
  moving = 1;
  const auto start = std::chrono::steady_clock::now();
  write();
  take(a, 1, note);
  expectStatus(status, kRetryExceeded);
  expect(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(kTimeoutMs),
         "the whole time to be used");
  a.device->close();
  b.device->close();
}

// A request waits for the peer to connect, and then for a receive. Neither wait takes from the time of the other, nor
// from the time in which the receive's memory is to be mapped.
void waitsApart(const ConnectParameters& limits, std::chrono::seconds connecting, std::chrono::seconds receiving) {
  Side a("shm"), b("shm");
  const Memory from(*a.device, a.pd, 4096), into(*b.device, b.pd, 4096);
  expect(a.connect(a.qp, b.address(b.qp), limits).get(), "one side to connect");
  WorkRequestSlot send = request(kSend, a.qp, 1), receive = request(kReceive, b.qp, 2);
  local(send, from, 0, kBytes);
  local(receive, into, 0, kBytes);
  post(a, send);
  faults::pass(connecting);
  expect(b.connect(b.qp, a.address(a.qp), limits).get(), "the other side to connect");
  while (b.device->qpAt(b.qp)->shared().rnrWaiting.load() == 0) std::this_thread::yield();
  {
    std::lock_guard guard(a.device->qpAt(a.qp)->sendLock);
    const bool endless = limits.rnrRetries == 7;
    expect((a.device->qpAt(a.qp)->wire()->deadline() == 0) == endless, "a time at which to look again, or none");
  }
  faults::pass(receiving);
  post(b, receive);
  take(a, 1, succeeded);
  take(b, 1, succeeded);
  a.device->close();
  b.device->close();
}

void eachWait() {
  // Limits that real time does not reach, and waits that are longer than the other's limit.
  constexpr std::chrono::milliseconds kShort = std::chrono::minutes(20), kLong = std::chrono::hours(2);
  constexpr std::chrono::seconds kNone(0), kBetween = std::chrono::hours(1);
  const int64_t before = steadyNs();
  faults::pass(kBetween);
  expect(steadyNs() - before >= std::chrono::nanoseconds(kBetween).count(), "the device's clock to go forward");
  const auto limits = [](uint32_t rnrRetries, std::chrono::milliseconds receive, std::chrono::milliseconds retry) {
    return ConnectParameters{rnrRetries, uint32_t(receive.count()), uint32_t(retry.count())};
  };
  waitsApart(limits(7, kShort, kShort), kNone, kBetween);
  waitsApart(limits(1, kShort, kLong), kBetween, kNone);
  waitsApart(limits(1, kLong, kShort), kNone, kBetween);
}

void expectRemoved(SoftDevice& device, int listener, uint32_t pd, uint32_t qp) {
  std::vector<AsyncEvent> events;
  while (events.empty()) events = device.events().take(listener);
  expect(events[0].type == "deviceRemoved", "the event deviceRemoved");
  expect(device.qpAt(qp)->state() == kError, "queue pairs to fail");
  expect(codeOf([&] { device.allocateRegion(pd, 4096, kLocalWrite); }) == "ERR_RDMC_DEVICE_REMOVED", "a clear error");
  WorkRequestSlot slot = request(kWrite, qp, 1);
  expect(device.post(&slot, 1) == 1 && slot.result == kDeviceRemoved, "posting to be refused");
}

// A native thread runs out of memory.
void threadsThrow() {
  Pair pair;
  pair.postReceive(1);
  const int listener = pair.b.device->events().subscribe();
  faults::doom("rdmc-service");
  pair.b.device->service().poke();
  expectRemoved(*pair.b.device, listener, pair.b.pd, pair.b.qp);
  take(pair.b, 1, [](const CompletionSlot& completion) { expectStatus(completion.status, kFlushed); });
  expect(pair.run(kWrite) != kSuccess, "the peer to notice");
  pair.close();

  Side tcp("tcp");
  const int other = tcp.device->events().subscribe();
  faults::doom("rdmc-nic");
  expect(!tcp.connect(tcp.qp, tcp.address(tcp.addQp())).get(), "the connect under way to fail");
  expectRemoved(*tcp.device, other, tcp.pd, tcp.qp);
  tcp.device->close();
}

// No descriptor for a newcomer, and then the kernel does not watch the listener either.
void listenerUnwatched() {
  Side a("shm"), b("shm");
  faults::failingAccepts = 1;
  faults::failingWatches = 2;
  connectBoth(a, a.qp, b, b.qp);
  expect(faults::failingAccepts == 0 && faults::failingWatches == 0, "the faults to happen");
  a.device->close();
  b.device->close();
}

// A peer is stopped in the middle of a copy, and there is no fresh memory for what it copies to.
void noFreshMemory() {
  Pair pair;
  expectStatus(pair.run(kWrite), kSuccess);
  pair.postReceive(1);
  const int listener = pair.b.device->events().subscribe();
  pair.pretendStopped();
  faults::noFiles = true;
  pair.b.device->failQueuePair(pair.b.qp);
  take(pair.b, 1, [](const CompletionSlot& completion) { expectStatus(completion.status, kFatal); });
  const auto events = pair.b.device->events().take(listener);
  expect(events.size() == 1 && events[0].type == "queuePairFatal" && events[0].queuePair == pair.b.qp, "one event");
  const auto closeQp = [&] { pair.b.device->destroyQueuePair(pair.b.qp); };
  const auto closeRegion = [&] { pair.b.device->closeRegion(pair.into.index); };
  expect(codeOf([&] { pair.b.device->revokeRegion(pair.into.index); }) == "ERR_RDMC_SYSTEM", "revoking to fail");
  expect(codeOf(closeRegion) == "ERR_RDMC_SYSTEM", "closing the region to fail");
  expect(codeOf(closeQp) == "ERR_RDMC_QUEUE_PAIR_BUSY", "closing the queue pair to fail");
  expect(pair.region().moving.load() == 0, "nothing to stay locked");
  faults::noFiles = false;
  expect(codeOf(closeQp).empty(), "closing the queue pair to work later");
  expect(codeOf(closeRegion).empty(), "closing the region to work later");
  pair.close();
}

// The same, when a part of the region has its fresh memory already.
void halfMoved() {
  Pair pair;
  expectStatus(pair.run(kWrite), kSuccess);
  pair.pretendStopped();
  for (uint32_t i = 0; i < kRegionBytes; ++i) pair.into.data()[i] = uint8_t(i * 7 >> 3);
  faults::freshMappings = 2;
  const auto revoke = [&] { pair.b.device->revokeRegion(pair.into.index); };
  expect(codeOf(revoke) == "ERR_RDMC_OUT_OF_MEMORY", "revoking to fail");
  // Both in memory that was moved, and in memory that was not.
  pair.into.data()[0] = pair.into.data()[kRegionBytes - 1] = 0x77;
  faults::freshMappings = -1;
  uint8_t* const old = pair.memoryAtPeer();
  expect(codeOf(revoke).empty(), "revoking to work later");
  old[1] = old[kRegionBytes - 2] = 0x99;  // what the stopped peer goes on with
  expect(pair.into.data()[0] == 0x77 && pair.into.data()[kRegionBytes - 1] == 0x77, "stores to be kept");
  for (uint32_t i = 1; i < kRegionBytes - 1; ++i)
    expect(pair.into.data()[i] == uint8_t(i * 7 >> 3), "the region's bytes");
  pair.close();
}

bool readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

// What a peer may do to the end of a bell that it holds.
void bells() {
  SoftChannel channel;
  const int theirs = channel.bells().endFor(1);
  expect(channel.bells().endFor(1) == theirs, "one bell for a link");
  expect(PeerBells::isBell(Fd(::dup(theirs))), "a bell to be one");
  for (int i = 0; i < 2; ++i) {
    PeerBells::ring(theirs);
    expect(readable(channel.fd()), "a ring to be heard");
    channel.drain();
    expect(!readable(channel.fd()), "a ring to be heard once");
  }
  ::fcntl(theirs, F_SETFL, ::fcntl(theirs, F_GETFL) & ~O_NONBLOCK);
  for (int i = 0; i < 10'000; ++i) PeerBells::ring(theirs);  // never waits
  while (readable(channel.fd())) channel.drain();
  uint8_t scrap;
  PeerBells::ring(theirs);
  expect(::recv(theirs, &scrap, 1, MSG_DONTWAIT) < 0 && readable(channel.fd()), "no ring to be taken away");
  channel.drain();
  const int other = channel.bells().endFor(2);
  ::shutdown(theirs, SHUT_RDWR);
  expect(!readable(channel.fd()), "no ring by shutting down");
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  ::connect(theirs, &nowhere, sizeof nowhere);
  channel.drain();
  expect(!readable(channel.fd()), "no ring without end by connecting elsewhere");
  PeerBells::ring(other);
  expect(readable(channel.fd()), "other bells to ring");
  channel.drain();
  expect(channel.bells().remove(1) && !channel.bells().remove(1), "a bell to be removed once");
  channel.signal();
  expect(readable(channel.fd()), "the channel's own signal");
}

// A peer that reads nothing.
void outboxEnds() {
  int ends[2];
  expect(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "a pair of sockets");
  const Fd ours(ends[0]), theirs(ends[1]);
  LinkOutbox messages, descriptors;
  const LinkMessage message = linkMessage(kGetEvent);
  uint32_t sent = 0;
  while (sent < 100'000 && messages.send(ours.get(), message)) ++sent;
  expect(messages.overflown() && sent >= 2 * kMaxQps && sent < 100'000, "messages to be bounded");
  const int fd = theirs.get();
  for (sent = 0; sent < 1'000 && descriptors.send(ours.get(), message, &fd, 1);) ++sent;
  expect(descriptors.overflown() && sent < 1'000, "descriptors to be bounded");
}

// Buffers go back, more of them than are kept, when no memory is left.
void inputBuffers() {
  TcpInputBuffers buffers;
  std::vector<TcpInputBuffers::Buffer> used(64);
  for (auto& each : used) each = buffers.take();
  faults::noMemory = true;
  for (auto& each : used) buffers.give(std::move(each));
  expect(buffers.take() != nullptr, "a buffer to be kept");
  faults::noMemory = false;
}

// A queue pair that cannot be made for want of memory leaves nothing behind.
void queuePairWithoutMemory() {
  Side a("shm");
  const uint32_t before = a.qp & (kMaxQps - 1);
  const uint32_t queue = a.device->createCompletionQueue(64, -1);
  faults::noMemory = true;
  bool thrown = false;
  try {
    a.device->createQueuePair({a.pd, queue, queue, a.sendDepth, a.receiveDepth});
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  faults::noMemory = false;
  expect(thrown, "no queue pair without memory");
  a.device->destroyCompletionQueue(queue);
  expect((a.addQp() & (kMaxQps - 1)) == before + 1, "the page of the queue pair to be free");
  a.device->close();
}

// A peer on this host puts a region that it cannot map in the place of the one that was posted, before a message comes
// over TCP.
void redirectedReceive() {
  Side a("tcp"), b("auto");
  connectBoth(a, a.qp, b, b.qp);
  const Memory from(*a.device, a.pd, kBytes), into(*b.device, b.pd, kBytes);
  uint8_t own[kBytes] = {};
  const uint32_t key = b.device->registerRegion(b.pd, own, kBytes, kLocalWrite);
  std::memset(from.data(), 0x22, kBytes);
  WorkRequestSlot receive = request(kReceive, b.qp, 1), send = request(kSend, a.qp, 2);
  local(receive, into, 0, kBytes);
  local(send, from, 0, kBytes);
  post(b, receive);
  const auto at = reinterpret_cast<uint64_t>(own);
  const uint32_t index = b.qp & (kMaxQps - 1);
  b.device->control().receiveSlots(index, receiveRing(b.receiveDepth))->sge[0] = {uint32_t(at), uint32_t(at >> 32),
                                                                                  kBytes, key};
  post(a, send);
  take(a, 1, [](const CompletionSlot& completion) { expectStatus(completion.status, kRemoteOperationError); });
  for (const uint8_t each : own) expect(each == 0, "memory that was not posted to be left alone");
  a.device->close();
  b.device->close();
}

const std::map<std::string, void (*)()> kCases = {
    {"state-after-busy", stateAfterBusy},
    {"copies-land", copiesLand},
    {"retries-end", retriesEnd},
    {"each-wait", eachWait},
    {"threads-throw", threadsThrow},
    {"listener", listenerUnwatched},
    {"no-fresh-memory", noFreshMemory},
    {"half-moved", halfMoved},
    {"bells", bells},
    {"outbox", outboxEnds},
    {"input-buffers", inputBuffers},
    {"redirected-receive", redirectedReceive},
    {"queue-pair-without-memory", queuePairWithoutMemory},
};

}  // namespace
}  // namespace rdmc::driver

int main(int count, char** arguments) {
  using namespace rdmc::driver;
  const auto found = kCases.find(count == 2 ? arguments[1] : "");
  if (found == kCases.end()) stop("usage: soft-faults CASE");
  found->second();
  std::printf("soft-faults: %s passed\n", arguments[1]);
  return 0;
}
