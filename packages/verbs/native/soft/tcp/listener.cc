#include "soft/tcp/listener.h"

#include <cerrno>
#include <cstring>

#include "soft/tcp/responder.h"
#include "soft/tcp/socket.h"

namespace rdmc {
namespace {

constexpr int64_t kOutOfFilesMs = 100;
constexpr int64_t kParkedCheckMs = 1000;

void respondFrom(TcpNic& nic, Fd socket, const std::shared_ptr<TcpWire>& wire, const TcpHello& hello) {
  tcpSetResponderOptions(socket);
  tcpSetTrafficClass(socket, wire->qp->parameters().trafficClass);
  auto& responder = nic.add<TcpResponder>(std::move(socket), wire, hello);
  wire->responder = &responder;
  nic.watch(responder);
}

}  // namespace

bool tcpIsFrom(const TcpHello& hello, const TcpWire& wire) {
  return hello.initiator == wire.peerNumber && hello.initiatorDevice == wire.peerDevice;
}

bool TcpListener::turn() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    Fd socket(::accept4(fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) nic_.setDeadline(*this, tcpNowNs() + kOutOfFilesMs * kMs);
      return false;
    }
    const Strangers::Address from = tcpPeerAddress(socket);
    auto& greeter = nic_.add<TcpGreeter>(std::move(socket));
    const uint64_t leaves = nic_.strangers.add(greeter.id, from);
    if (TcpConnection* old = leaves == 0 ? nullptr : nic_.find(leaves)) nic_.end(*old);
    nic_.watch(greeter);
    // A peer sends its hello at once: it is read before others can replace this connection.
    greeter.readable = true;
    if (nic_.turn(greeter)) nic_.enqueue(greeter);
  }
  return true;
}

// ---- greeting

TcpGreeter::TcpGreeter(TcpNic& nic, Fd socket) : TcpConnection(nic, std::move(socket)) {
  greetingNs_ = tcpNowNs() + kGreetingMs * kMs;
  nic_.setDeadline(*this, tcpNowNs() + kFirstBytesMs * kMs);
}

TcpGreeter::~TcpGreeter() { nic_.strangers.remove(id); }

void TcpGreeter::expire(int64_t nowNs) {
  if (silent_ || nowNs >= greetingNs_) return nic_.end(*this);
  nic_.setDeadline(*this, greetingNs_);
}

bool TcpGreeter::turn() {
  if (step_ == Step::kRefused) return discard();
  if (!readable || !collect(step_ == Step::kHello ? sizeof(TcpHello) : kTcpMacBytes)) return false;
  have_ = 0;
  return step_ == Step::kHello ? onHello() : onProof();
}

// Reads up to `wanted` bytes; true when they are there. Gives up at the first wrong byte.
bool TcpGreeter::collect(size_t wanted) {
  iovec piece{buffer_ + have_, wanted - have_};
  size_t got = 0;
  const TcpMoved moved = tcpReceive(fd(), &piece, 1, got);
  if (moved == TcpMoved::kEnd) nic_.end(*this);
  if (moved == TcpMoved::kNothing) readable = false;
  if (moved != TcpMoved::kSome) return false;
  if (silent_) nic_.strangers.spoke(id);
  silent_ = false;
  have_ += got;
  if (step_ == Step::kHello) {
    const uint32_t start[2] = {kTcpMagic, kTcpVersion};
    if (std::memcmp(buffer_, start, std::min<size_t>(have_, 4)) != 0) {
      nic_.end(*this);
      return false;
    }
    if (have_ >= 8 && std::memcmp(buffer_, start, 8) != 0) return refuse(kTcpOtherVersion);
  }
  if (have_ < wanted) nic_.enqueue(*this);
  return have_ == wanted;
}

bool TcpGreeter::onHello() {
  std::memcpy(&hello_, buffer_, sizeof hello_);
  if (hello_.flags > kTcpHasKey || hello_.rnrRetries > 7 || hello_.rnrTimerMs > 655 ||
      hello_.retryTimeoutMs > 600'000) {
    nic_.end(*this);
    return false;
  }
  const bool keyed = !nic_.device().options().key.empty();
  if (keyed != bool(hello_.flags & kTcpHasKey)) return refuse(kTcpWrongKey);
  if (!keyed) return welcome();
  tcpNonce(nonce_);
  step_ = Step::kProof;
  return say(kTcpChallenge, kTcpNoRefusal, nonce_);
}

bool TcpGreeter::onProof() {
  const TcpMac expected = tcpProof(nic_.device().options().key, TcpRole::kInitiator, hello_, nonce_);
  if (!tcpSameProof(buffer_, expected)) return refuse(kTcpWrongKey);
  admittedByKey_ = true;
  return welcome();
}

TcpRefusalReason TcpGreeter::admission() const {
  if (hello_.targetDevice != nic_.device().id()) return kTcpOtherDevice;
  const auto qp = nic_.device().qp(hello_.target);
  if (!qp) return kTcpNoQueuePair;
  if (qp->state() == kError) return kTcpQueuePairBroken;
  if (const auto wire = nic_.wire(hello_.target)) {
    return tcpIsFrom(hello_, *wire) && !wire->responder ? kTcpNoRefusal : kTcpQueuePairTaken;
  }
  if (qp->state() != kInit) return kTcpQueuePairTaken;  // over shared memory
  const auto [first, last] = nic_.parked.equal_range(hello_.target);
  if (std::distance(first, last) >= std::ptrdiff_t(kTcpMaxParked)) return kTcpQueuePairTaken;
  return kTcpNoRefusal;
}

bool TcpGreeter::welcome() {
  const TcpRefusalReason reason = admission();
  if (reason != kTcpNoRefusal) return refuse(reason);
  TcpMac mac{};
  if (admittedByKey_) mac = tcpProof(nic_.device().options().key, TcpRole::kListener, hello_, nonce_);
  if (!say(kTcpWelcome, kTcpNoRefusal, mac.data())) return false;
  if (const auto wire = nic_.wire(hello_.target)) {
    respondFrom(nic_, std::move(socket_), wire, hello_);
  } else {
    nic_.watch(nic_.add<TcpParked>(std::move(socket_), hello_));
  }
  nic_.end(*this);
  return false;
}

bool TcpGreeter::refuse(TcpRefusalReason reason) {
  const uint8_t nothing[32] = {};
  if (!say(kTcpRefusal, reason, nothing)) return false;
  step_ = Step::kRefused;
  ::shutdown(fd(), SHUT_WR);
  return discard();
}

bool TcpGreeter::say(TcpReplyKind kind, TcpRefusalReason reason, const uint8_t* bytes) {
  TcpReply reply{kTcpMagic, kTcpVersion, kind, reason, {}};
  std::memcpy(reply.bytes, bytes, sizeof reply.bytes);
  iovec piece{&reply, sizeof reply};
  size_t sent = 0;
  tcpSend(fd(), &piece, 1, sent);
  // These few bytes always fit into an empty socket.
  if (sent != sizeof reply) nic_.end(*this);
  return sent == sizeof reply;
}

// A refusal was sent: closing now, with unread bytes, would discard it.
bool TcpGreeter::discard() {
  uint8_t scrap[1024];
  for (int i = 0; i < 16; ++i) {
    iovec piece{scrap, sizeof scrap};
    size_t got = 0;
    const TcpMoved moved = tcpReceive(fd(), &piece, 1, got);
    if (moved == TcpMoved::kEnd) nic_.end(*this);
    if (moved != TcpMoved::kSome) return false;
  }
  nic_.end(*this);  // more than any greeting
  return false;
}

// ---- waiting for our own queue pair

TcpParked::TcpParked(TcpNic& nic, Fd socket, const TcpHello& hello)
    : TcpConnection(nic, std::move(socket)), hello_(hello) {
  nic_.parked.emplace(hello_.target, this);
  nic_.setDeadline(*this, tcpNowNs() + kParkedCheckMs * kMs);
}

TcpParked::~TcpParked() {
  const auto [first, last] = nic_.parked.equal_range(hello_.target);
  for (auto each = first; each != last; ++each) {
    if (each->second != this) continue;
    nic_.parked.erase(each);
    return;
  }
}

bool TcpParked::turn() {
  // The peer must not send anything before the admission: a byte is an error, and so is the end of the stream.
  uint8_t byte;
  iovec piece{&byte, 1};
  size_t got = 0;
  if (readable && tcpReceive(fd(), &piece, 1, got) != TcpMoved::kNothing) nic_.end(*this);
  readable = false;
  return false;
}

void TcpParked::expire(int64_t nowNs) {
  const auto qp = nic_.device().qp(hello_.target);
  if (!qp || qp->state() == kError) return nic_.end(*this);
  nic_.setDeadline(*this, nowNs + kParkedCheckMs * kMs);
}

void TcpParked::resume(const std::shared_ptr<TcpWire>& wire) {
  respondFrom(nic_, std::move(socket_), wire, hello_);
  nic_.end(*this);
}

void tcpResumeParked(TcpNic& nic, const std::shared_ptr<TcpWire>& wire) {
  std::vector<TcpParked*> waiting;
  const auto [first, last] = nic.parked.equal_range(wire->qp->number());
  for (auto each = first; each != last; ++each) waiting.push_back(each->second);
  for (TcpParked* each : waiting) {
    if (each->ended) continue;
    if (tcpIsFrom(each->hello(), *wire) && !wire->responder) {
      each->resume(wire);
    } else {
      nic.end(*each);
    }
  }
}

}  // namespace rdmc
