#include "soft/tcp/dialler.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "core/failure.h"
#include "soft/tcp/listener.h"
#include "soft/tcp/requester.h"

namespace rdmc {
namespace {

constexpr int64_t kMaxPauseMs = 250;

// On a loopback, dialling a port without a listener can connect a socket to itself.
bool metItself(int socket) {
  sockaddr_storage mine{}, theirs{};
  socklen_t mineLength = sizeof mine, theirLength = sizeof theirs;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&mine), &mineLength) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&theirs), &theirLength) == 0 && mineLength == theirLength &&
         std::memcmp(&mine, &theirs, mineLength) == 0;
}

}  // namespace

TcpDialler::TcpDialler(TcpNic& nic, std::shared_ptr<QueuePair> qp, const SoftAddress& remote,
                       const ConnectParameters& parameters, ConnectCallback done)
    : TcpConnection(nic, Fd()), qp_(std::move(qp)), remote_(remote), parameters_(parameters), done_(std::move(done)) {}

void TcpDialler::begin() {
  giveUpNs_ = tcpNowNs() + int64_t(parameters_.retryTimeoutMs) * kMs;
  auto numeric = tcpNumericAddress(remote_.tcpHost, remote_.tcpPort);
  if (!numeric.empty()) return resolved(numeric, "");
  lookUp();
}

// Looking up a name can take many seconds, so that another thread does it; the NIC gives up when the time is over.
void TcpDialler::lookUp() {
  nic_.setDeadline(*this, giveUpNs_);
  TcpNic* nic = &nic_;
  const auto resolve = [inbox = nic_.inbox(), nic, host = remote_.tcpHost, port = remote_.tcpPort, mine = id] {
    try {
      std::string why;
      auto endpoints = tcpResolve(host, port, why);
      inbox->post([nic, mine, endpoints = std::move(endpoints), why] {
        if (TcpConnection* const asked = nic->find(mine)) asked->resolved(endpoints, why);
      });
    } catch (const std::exception&) {
      // Memory for the answer is not available: the NIC gives up when the time is over.
    }
  };
  try {
    std::thread(resolve).detach();
  } catch (const std::system_error&) {
    const Failure failure = caughtFailure();
    giveUp(failure.code, "no thread can be started to look up its name: " + std::string(failure.what()));
  }
}

void TcpDialler::resolved(const std::vector<TcpEndpoint>& endpoints, const std::string& why) {
  endpoints_ = endpoints;
  if (endpoints_.empty()) return giveUp("ERR_RDMC_CONNECT_FAILED", "no such host: " + why);
  attempt();
}

bool TcpDialler::stillWanted() {
  if (nic_.device().qp(qp_->number()) == qp_ && qp_->state() == kInit) return true;
  return fail("ERR_RDMC_CONNECT_FAILED", "the queue pair was closed meanwhile");
}

// ---- dialling

void TcpDialler::attempt() {
  if (!stillWanted()) return;
  const TcpEndpoint& to = endpoints_[next_];
  socket_ = tcpSocket(to.address.ss_family);
  if (!socket_.valid()) return missed(errno);
  tcpSetTrafficClass(socket_, parameters_.trafficClass);
  step_ = Step::kConnect;
  readable = writable = hungUp = false;
  if (::connect(fd(), reinterpret_cast<const sockaddr*>(&to.address), to.length) != 0 && errno != EINPROGRESS) {
    return missed(errno);
  }
  nic_.setDeadline(*this, giveUpNs_);
  nic_.watch(*this);
}

void TcpDialler::missed(int error) {
  lastError_ = error;
  nic_.unwatch(*this);
  socket_.reset();
  if (++next_ < endpoints_.size()) return attempt();
  next_ = 0;
  const int64_t again = tcpNowNs() + pauseMs_ * kMs;
  if (again >= giveUpNs_) {
    return giveUp("ERR_RDMC_CONNECT_FAILED", errorText(lastError_) + ", for " +
                                                 std::to_string(parameters_.retryTimeoutMs) +
                                                 " ms; is the peer's device open, and its address reachable?");
  }
  pauseMs_ = std::min(pauseMs_ * 2, kMaxPauseMs);
  step_ = Step::kPause;
  nic_.setDeadline(*this, again);
}

void TcpDialler::expire(int64_t) {
  if (step_ == Step::kPause) return attempt();
  if (step_ == Step::kLookUp) return giveUp("ERR_RDMC_CONNECT_FAILED", "looking up its name took too long");
  if (step_ == Step::kConnect) return giveUp("ERR_RDMC_CONNECT_FAILED", "nobody answers");
  giveUp("ERR_RDMC_CONNECT_FAILED", "it accepts connections, but does not greet; is it a soft device?");
}

bool TcpDialler::turn() {
  if (step_ == Step::kPause || step_ == Step::kLookUp) return false;
  if (step_ == Step::kConnect) return (writable || hungUp) && onConnected();
  return readable && collectReply() && onReply();
}

bool TcpDialler::onConnected() {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0 && metItself(fd())) error = ECONNREFUSED;
  if (error != 0) {
    missed(error);
    return false;
  }
  if (!stillWanted()) return false;
  const bool keyed = !nic_.device().options().key.empty();
  hello_ = {kTcpMagic,
            kTcpVersion,
            keyed ? kTcpHasKey : 0,
            qp_->number(),
            remote_.queuePair,
            parameters_.rnrRetries,
            parameters_.rnrTimerMs,
            parameters_.retryTimeoutMs,
            nic_.device().id(),
            remote_.device,
            {}};
  if (keyed) tcpNonce(hello_.nonce);
  iovec piece{&hello_, sizeof hello_};
  size_t sent = 0;
  tcpSetRequesterOptions(socket_, parameters_.retryTimeoutMs);
  tcpSend(fd(), &piece, 1, sent);
  if (sent != sizeof hello_) {
    missed(ECONNRESET);
    return false;
  }
  step_ = Step::kFirstReply;
  nic_.setDeadline(*this, tcpNowNs() + kTcpGreetingMs * kMs);
  return true;
}

// ---- greeting

bool TcpDialler::collectReply() {
  iovec piece{reinterpret_cast<uint8_t*>(&reply_) + have_, sizeof reply_ - have_};
  size_t got = 0;
  const TcpMoved moved = tcpReceive(fd(), &piece, 1, got);
  if (moved == TcpMoved::kNothing) {
    readable = false;
    return false;
  }
  if (moved == TcpMoved::kEnd && have_ == 0) {
    missed(ECONNRESET);  // it has more strangers than it keeps, or it starts again
    return false;
  }
  if (moved == TcpMoved::kEnd) {
    return fail("ERR_RDMC_CONNECT_FAILED", "it closed the connection instead of greeting");
  }
  have_ += got;
  if (have_ >= 4 && reply_.magic != kTcpMagic) {
    return fail("ERR_RDMC_CONNECT_FAILED", "what answers there is not a soft device");
  }
  if (have_ < sizeof reply_) nic_.enqueue(*this);
  return have_ == sizeof reply_;
}

bool TcpDialler::onReply() {
  have_ = 0;
  const bool keyed = !nic_.device().options().key.empty();
  if (reply_.version != kTcpVersion) {
    return fail("ERR_RDMC_PROTOCOL_VERSION", "the peer speaks version " + std::to_string(reply_.version) +
                                                 " of the soft device's TCP protocol, we speak " +
                                                 std::to_string(kTcpVersion) + "; use the same @rdmc/verbs everywhere");
  }
  if (reply_.kind == kTcpRefusal) return onRefusal();
  if (reply_.kind == kTcpChallenge && keyed && step_ == Step::kFirstReply) return onChallenge();
  const bool due = reply_.kind == kTcpWelcome && (keyed ? step_ == Step::kWelcome : step_ == Step::kFirstReply);
  if (!due) return fail("ERR_RDMC_CONNECT_FAILED", "it greets in a way no soft device does");
  if (keyed) {
    const TcpMac expected = tcpProof(nic_.device().options().key, TcpRole::kListener, hello_, nonce_);
    if (!tcpSameProof(reply_.bytes, expected)) {
      return fail("ERR_RDMC_WRONG_KEY", "the peer does not know our key; give all peers the same key");
    }
  }
  return succeed();
}

bool TcpDialler::onChallenge() {
  std::memcpy(nonce_, reply_.bytes, sizeof nonce_);
  TcpMac proof = tcpProof(nic_.device().options().key, TcpRole::kInitiator, hello_, nonce_);
  iovec piece{proof.data(), proof.size()};
  size_t sent = 0;
  tcpSend(fd(), &piece, 1, sent);
  if (sent != proof.size()) {
    missed(ECONNRESET);  // as in collectReply
    return false;
  }
  step_ = Step::kWelcome;
  return true;
}

bool TcpDialler::onRefusal() {
  const std::string number = std::to_string(remote_.queuePair);
  const char* code = "ERR_RDMC_CONNECT_FAILED";
  switch (reply_.status) {
    case kTcpWrongKey:
      return fail("ERR_RDMC_WRONG_KEY", nic_.device().options().key.empty()
                                            ? "the peer has a key, we have none; give all peers the same key"
                                            : "the peer has another key, or none; give all peers the same key "
                                              "(without the option `key`, it is the user's, and both must find the "
                                              "same file)");
    case kTcpOtherDevice:
      return fail(code, "another device listens there: the address is stale");
    case kTcpNoQueuePair:
      return fail(code, "the peer has no queue pair " + number + ": it was closed, or the address is stale");
    case kTcpQueuePairBroken:
      return fail(code, "the peer's queue pair " + number + " is in the error state");
    case kTcpQueuePairTaken:
      return fail(code, "the peer's queue pair " + number + " is connected to another");
    default:
      return fail(code, "the peer refuses, for reason " + std::to_string(reply_.status));
  }
}

bool TcpDialler::succeed() {
  auto wire = std::make_shared<TcpWire>(nic_, remote_.device, remote_.queuePair);
  wire->qp = qp_;
  qp_->attach(wire, 0, parameters_);
  if (qp_->wire() != wire) {
    wire->qp.reset();
    return fail("ERR_RDMC_CONNECT_FAILED", "the queue pair was closed meanwhile");
  }
  nic_.addWire(wire);
  auto& requester = nic_.add<TcpRequester>(std::move(socket_), wire, parameters_.retryTimeoutMs);
  wire->requester = &requester;
  nic_.watch(requester);
  nic_.enqueue(requester);
  nic_.end(*this);
  tcpResumeParked(nic_, wire);
  const ConnectCallback done = std::move(done_);
  done(nullptr);
  return false;
}

bool TcpDialler::fail(const std::string& code, const std::string& why) {
  giveUp(code, why);
  return false;
}

void TcpDialler::giveUp(const std::string& code, const std::string& why) {
  if (ended) return;
  nic_.end(*this);
  const Failure failure(code, "Cannot connect to " + tcpHostPort(remote_.tcpHost, remote_.tcpPort) + ": " + why,
                        lastError_, lastError_ == 0 ? "" : "connect");
  const ConnectCallback done = std::move(done_);
  done(&failure);
}

}  // namespace rdmc
