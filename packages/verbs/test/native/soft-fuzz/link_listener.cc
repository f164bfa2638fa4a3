#include <chrono>
#include <cstring>
#include <future>

#include "hostile_segment.h"
#include "keyed.h"
#include "link_input.h"
#include "soft/address.h"
#include "soft/shm/greeting.h"
#include "soft/shm/transport.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

// A retry takes 20 ms at most, or an input that blocks would take long.
constexpr uint32_t kLinkRetryMs = 20;
constexpr uint8_t kIsRight = 0x80, kPostsBefore = 0x40;
constexpr uint32_t kLinkRings[] = {1, kLittleRing, kLittleRing + 1, kMaxReceiveDepth};

// Where a device is expected. Each input has another one: the victim may not have forgotten the last one yet.
struct LinkListener {
  LinkListener() : socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    static uint64_t made = 0;
    id.fill(7);
    ++made;
    std::memcpy(id.data(), &made, sizeof made);
    const uint32_t process = uint32_t(::getpid());
    std::memcpy(id.data() + sizeof made, &process, sizeof process);
    sockaddr_un address;
    const socklen_t length = abstractAddress(shmSocketName(id), address);
    require(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                ::listen(socket.get(), 16) == 0,
            "cannot listen");
  }
  DeviceId id{};
  Fd socket;
};

// What the hostile side hands out.
struct Gifts {
  Gifts(const LinkListener& listener, uint64_t token, uint32_t ring)
      : segment(hostileSegment(listener.id, token, ring)) {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "cannot make a bell");
    ourBell = Fd(ends[0]);
    theirBell = Fd(ends[1]);
  }
  int forType(uint32_t type) const {
    if (type == kArena) return arena().get();
    return type == kEvent ? theirBell.get() : segment.fd().get();
  }
  static const Fd& arena() {
    static const Fd file = createSealedMemory("rdmc-fuzz-arena", kChunkBytes);
    return file;
  }
  static const Fd& other() {
    static const Fd file = fileOfOtherKind();
    return file;
  }
  ControlSegment segment;
  Fd ourBell, theirBell;
};

class HostileLink {
 public:
  HostileLink(const KeyedVictim& victim, uint8_t flags)
      : victim_(victim),
        keyed_(!victim.device->options().key.empty()),
        qp_(victim.queuePair()),
        gifts_(listener_, tokenOf(victim.device->id(), qp_), kLinkRings[flags >> 1 & 3]) {}

  // Changes of four bytes of the queue pair's page or the region's entry: which (the top bit) and which word, and the
  // new value.
  void change(Input& input) {
    const uint8_t where = input.byte();
    uint8_t value[4];
    input.fill(value);
    auto* page = where & 0x80 ? reinterpret_cast<uint8_t*>(&gifts_.segment.region(kHostileKey & (kMaxRegions - 1)))
                              : reinterpret_cast<uint8_t*>(&gifts_.segment.qp(kHostileQp & (kMaxQps - 1)));
    std::memcpy(page + (where & 0x7f) * sizeof value, value, sizeof value);
  }

  void meet() {
    SoftAddress hostile;
    hostile.device = listener_.id;
    hostile.queuePair = kHostileQp;
    hostile.hostId = victim_.device->hostId();
    hostile.transport = "shm";
    auto done = std::make_shared<std::promise<bool>>();
    victim_.device->connect(qp_, hostile.fields(), ConnectParameters{1, 1, kLinkRetryMs},
                            [done](const Failure* failure) { done->set_value(failure == nullptr); });
    done_ = done->get_future();
    socket_ = acceptFrom(listener_.socket);
    LinkMessage hello{};
    std::vector<Fd> fds;
    if (!awaitMessage(socket_, hello, fds)) return;
    require(hello.type == kHello && fds.empty(), "the device does not greet");
    greeting_.initiator = hello.hello.device;
    greeting_.listener = listener_.id;
    std::memcpy(greeting_.initiatorNonce, hello.hello.secret, kNonceBytes);
  }

  void send(LinkInput next) {
    if (next.head & kPostsBefore) postOnce();
    if (next.cut()) return next.sendCut(socket_);
    if (next.head & kIsRight) repair(next.message);
    if (next.message.type == kChallenge) {
      std::memcpy(greeting_.listenerNonce, next.message.challenge.bytes, kNonceBytes);
      challenged_ = true;
    }
    const int right = gifts_.forType(next.message.type), other = Gifts::other().get();
    const int one[] = {right}, two[] = {other, right}, three[] = {right, Gifts::arena().get(), other};
    const int* const fds[] = {nullptr, one, two, three};
    sendLinkMessage(socket_.get(), next.message, fds[next.descriptors()], next.descriptors());
  }

  void end() {
    if (posted_) settleLink();
    // A connect that has not ended dials again, and finds nobody.
    listener_.socket.reset();
    ::shutdown(socket_.get(), SHUT_WR);
    connected();
    victim_.device->destroyQueuePair(qp_);  // it has the socket as long as it is connected
    finish(socket_);
    drain();
  }

 private:
  void repair(LinkMessage& message) {
    if (message.type == kHello) {
      message.hello.device = listener_.id;
      if (!keyed_) return;
      const Mac proof = shmProof(fuzzKey(), ShmRole::kListener, greeting_);
      std::memcpy(message.hello.secret, proof.data(), proof.size());
      proved_ |= challenged_;
    } else if (message.type == kEvent) {
      message.event.queuePair = kHostileQp;
      message.event.state %= 3;
    } else if (message.type == kArena || message.type == kArenaGone) {
      message.arena.id = kHostileArena;
      message.arena.bytes = kChunkBytes;
    }
  }

  // Whether the victim has connected.
  bool connected() {
    if (!done_.valid()) return connected_;
    require(done_.wait_for(std::chrono::milliseconds(kLimitMs)) == std::future_status::ready, "a connect does not end");
    connected_ = done_.get();
    require(!connected_ || !keyed_ || proved_, "the device connects to a peer that did not prove the key");
    return connected_;
  }

  void postOnce() {
    if (posted_ || !connected()) return;
    posted_ = true;
    const Region& own = victim_.device->regions().at(victim_.region);
    constexpr uint32_t kOpcodes[] = {kSend, kWrite, kRead, kFetchAndAdd};
    WorkRequestSlot slots[std::size(kOpcodes)] = {};
    for (size_t i = 0; i < std::size(kOpcodes); ++i) {
      WorkRequestSlot& slot = slots[i];
      slot.opcode = kOpcodes[i];
      slot.queuePair = qp_;
      slot.flags = kSignaled;
      slot.sgeCount = 1;
      const uint32_t length = kOpcodes[i] == kFetchAndAdd ? 8 : 4096;
      slot.sge[0] = {uint32_t(own.address), uint32_t(own.address >> 32), length, own.key.load()};
      slot.remoteLow = uint32_t(kHostileAddress);
      slot.rkey = kHostileKey;
    }
    victim_.device->post(slots, std::size(kOpcodes));
  }

  uint32_t drain() {
    CompletionSlot slots[64];
    return victim_.device->poll(*victim_.device->completionQueue(victim_.cq), slots, 64);
  }

  // Until all requests have completed, or are overdue.
  void settleLink() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2 * kLinkRetryMs);
    for (uint32_t completed = 0; completed < 4 && std::chrono::steady_clock::now() < end;) completed += drain();
  }

  const KeyedVictim& victim_;
  const bool keyed_;
  const uint32_t qp_;
  LinkListener listener_;
  Gifts gifts_;
  Fd socket_;
  ShmGreeting greeting_;
  std::future<bool> done_;
  bool connected_ = false, challenged_ = false, proved_ = false, posted_ = false;
};

}  // namespace

// Flags (1: the devices have a key; bits 1-2: the announced ring; bits 4-7: how many changes of memory follow), the
// changes, then messages (see link_input.h). Bit 7: device, proof and numbers of the message are right; bit 6: the
// victim connects and posts before it. A single descriptor is the right one, the first of two is not.
void linkListener(const uint8_t* data, size_t size) {
  static KeyedVictim* const victims[] = {new KeyedVictim("shm", false), new KeyedVictim("shm")};
  Input input(data, size);
  const uint8_t flags = input.byte();
  HostileLink link(*victims[flags & 1], flags);
  for (int changes = flags >> 4; changes > 0; --changes) link.change(input);
  link.meet();
  while (!input.ended()) link.send(LinkInput(input));
  link.end();
}

}  // namespace rdmc::fuzz
