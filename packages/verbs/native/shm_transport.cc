#include "shm_transport.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "failure.h"
#include "shm_wire.h"

namespace rdmc {
namespace {

constexpr int kBacklog = 512;
constexpr int kFlushAgainMs = 5;
constexpr int64_t kAcceptPauseNs = 100'000'000;

socklen_t abstractAddress(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool sameUser(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

}  // namespace

std::string hex(const DeviceId& id) {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : id) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

uint64_t peerToken(const DeviceId& device, uint32_t queuePair) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint8_t byte : device) hash = (hash ^ byte) * 0x100000001b3;
  for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((queuePair >> shift) & 0xff)) * 0x100000001b3;
  return hash | 1;
}

ShmTransport::ShmTransport(SoftDevice& device) : device_(device) {
  listener_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_.valid()) throw systemFailure("socket", "Opening the local meeting point", errno);
  sockaddr_un address;
  const socklen_t length = abstractAddress(socketName(device.id()), address);
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), kBacklog) != 0) {
    throw systemFailure("bind", "Opening the local meeting point", errno);
  }
}

std::string ShmTransport::socketName(const DeviceId& id) { return "rdmc-soft-" + hex(id); }

void ShmTransport::start() {
  device_.service().watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept(); });
}

void ShmTransport::stop() {
  for (auto& [fd, from] : incoming_) device_.service().unwatch(fd);
  incoming_.clear();
  while (!outgoing_.empty()) lose(outgoing_.begin()->first, "the device is closed");
  device_.service().unwatch(listener_.get());
  listener_.reset();
}

LinkMessage ShmTransport::hello() const {
  LinkMessage message{};
  message.type = kHello;
  message.a = kControlVersion;
  message.id = device_.id();
  return message;
}

void ShmTransport::sendHello(int socket) const {
  const int fds[2] = {device_.control().fd().get(), device_.service().wakeFd().get()};
  sendLinkMessage(socket, hello(), fds, 2);
}

// ---- incoming: others ask us

void ShmTransport::accept() {
  for (;;) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno != EMFILE && errno != ENFILE) return;
      // It would be reported as readable for ever.
      device_.service().unwatch(listener_.get());
      acceptAgainNs_ = steadyNs() + kAcceptPauseNs;
      return;
    }
    if (!sameUser(socket.get())) {
      LinkMessage refused{};
      refused.type = kRefused;
      refused.a = 1;
      sendLinkMessage(socket.get(), refused);
      continue;
    }
    const int fd = socket.get();
    incoming_[fd].socket = std::move(socket);
    device_.service().watch(fd, EPOLLIN, [this, fd](uint32_t) { onIncoming(fd); });
  }
}

void ShmTransport::onIncoming(int fd) {
  for (;;) {
    Incoming& from = incoming_.at(fd);
    LinkMessage message;
    std::vector<Fd> fds;
    const int got = receiveLinkMessage(fd, message, fds);
    if (got == 0) return;
    if (got < 0 || (!from.greeted && message.type != kHello)) {
      device_.service().unwatch(fd);
      incoming_.erase(fd);
      return;
    }
    serve(from, message);
  }
}

void ShmTransport::serve(Incoming& from, const LinkMessage& message) {
  switch (message.type) {
    case kHello: {
      if (message.a != kControlVersion) {
        LinkMessage refused{};
        refused.type = kRefused;
        refused.a = 2;
        refused.b = kControlVersion;
        from.outbox.send(from.socket.get(), refused);
        return;
      }
      from.greeted = true;
      const int fds[2] = {device_.control().fd().get(), device_.service().wakeFd().get()};
      from.outbox.send(from.socket.get(), hello(), fds, 2);
      return;
    }
    case kGetArena:
      return serveArena(from, message.a);
    case kGetEvent:
      return serveEvent(from, message.a);
    case kDetach:
      return serveDetach(from, message);
    case kPeerError:
      if (const auto qp = device_.qp(message.a)) qp->fail(kFlushed);
      return;
    default:
      return;  // a newer peer may say things we do not know
  }
}

void ShmTransport::serveArena(Incoming& from, uint32_t id) {
  LinkMessage answer{};
  answer.type = kArena;
  answer.a = id;
  const auto arena = device_.pool().find(id);
  if (!arena) {
    from.outbox.send(from.socket.get(), answer);
    return;
  }
  answer.size = arena->memory.length();
  const int fd = arena->fd.get();
  from.arenas.push_back(id);
  from.outbox.send(from.socket.get(), answer, &fd, 1);
}

void ShmTransport::serveEvent(Incoming& from, uint32_t queuePair) {
  LinkMessage answer{};
  answer.type = kEvent;
  answer.a = queuePair;
  const auto qp = device_.qp(queuePair);
  if (!qp) {
    from.outbox.send(from.socket.get(), answer);
    return;
  }
  answer.b = qp->receiveCq()->index();
  const auto& channel = qp->receiveCq()->channel();
  answer.c = channel ? 2 : 1;
  answer.size = channel ? channel->id() : 0;
  const int fd = channel ? channel->fd() : -1;
  from.outbox.send(from.socket.get(), answer, &fd, channel ? 1 : 0);
}

void ShmTransport::serveDetach(Incoming& from, const LinkMessage& message) {
  const auto qp = device_.qp(message.a);
  const auto* wire = qp ? dynamic_cast<const ShmWire*>(qp->wire().get()) : nullptr;
  // By now the number may belong to a queue pair that is connected to another.
  if (wire && (wire->peerNumber() & (kMaxQps - 1)) == message.b) {
    std::lock_guard guard(qp->sendLock);
    qp->failLocked(kRetryExceeded);
    if (qp->wire()) qp->wire()->detach(*qp);
  }
  LinkMessage answer{};
  answer.type = kDetached;
  answer.a = message.b;
  from.outbox.send(from.socket.get(), answer);
}

void ShmTransport::arenaGone(uint32_t id) {
  LinkMessage message{};
  message.type = kArenaGone;
  message.a = id;
  for (auto& [fd, from] : incoming_) {
    if (std::erase(from.arenas, id)) from.outbox.send(fd, message);
  }
}

// ---- outgoing: we ask others

ShmTransport::Outgoing* ShmTransport::dial(const QueuePairAddress& remote, std::string& why) {
  const auto found = outgoing_.find(remote.device);
  if (found != outgoing_.end()) return &found->second;
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) {
    why = systemFailure("socket", "Connecting to a local peer", errno).what();
    return nullptr;
  }
  sockaddr_un address;
  const std::string name = socketName(remote.device);
  const socklen_t length = abstractAddress(name, address);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    why = "no device listens at the abstract socket " + name + " (" + std::strerror(errno) +
          "): its process has ended, or it lives in another network namespace";
    return nullptr;
  }
  if (!sameUser(socket.get())) {
    why = "the peer runs as another user: shared memory is for processes of one user; use transport 'tcp'";
    return nullptr;
  }
  Outgoing& to = outgoing_[remote.device];
  to.peer = remote.device;
  to.socket = std::move(socket);
  const DeviceId peer = remote.device;
  device_.service().watch(to.socket.get(), EPOLLIN, [this, peer](uint32_t) { onOutgoing(peer); });
  sendHello(to.socket.get());
  return &to;
}

void ShmTransport::connect(std::shared_ptr<QueuePair> qp, const QueuePairAddress& remote,
                           const ConnectParameters& parameters, ConnectCallback done) {
  std::string why;
  Outgoing* to = dial(remote, why);
  if (!to) {
    const Failure failure("ERR_RDMC_CONNECT_FAILED", "Cannot reach the peer over shared memory: " + why);
    return done(&failure);
  }
  const int64_t deadlineNs = steadyNs() + int64_t(parameters.retryTimeoutMs) * 1'000'000;
  to->waiting.push_back({std::move(qp), remote, parameters, std::move(done), deadlineNs});
  if (!to->link) return;
  LinkMessage ask{};
  ask.type = kGetEvent;
  ask.a = remote.queuePair;
  to->link->send(ask);
}

void ShmTransport::onOutgoing(const DeviceId& peer) {
  for (;;) {
    const auto found = outgoing_.find(peer);
    if (found == outgoing_.end()) return;
    LinkMessage message;
    std::vector<Fd> fds;
    const int fd = found->second.link ? found->second.link->socket() : found->second.socket.get();
    const int got = receiveLinkMessage(fd, message, fds);
    if (got == 0) return;
    if (got < 0) return lose(peer, "the peer's process has ended");
    if (!handle(found->second, message, fds)) return;
  }
}

bool ShmTransport::handle(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds) {
  switch (message.type) {
    case kHello:
      return to.link || greet(to, message, fds);
    case kRefused: {
      const bool version = message.a == 2;
      failWaiting(to, version ? "ERR_RDMC_PROTOCOL_VERSION" : "ERR_RDMC_CONNECT_FAILED",
                  version ? "the peer speaks version " + std::to_string(message.b) + " of the soft device, we speak " +
                                std::to_string(kControlVersion)
                          : "the peer runs as another user");
      lose(DeviceId(to.peer), "refused");
      return false;
    }
    case kEvent:
      if (to.link) attach(to, message, fds);
      return true;
    case kArena:
      if (to.link) {
        if (message.size > 0 && fds.empty()) {
          lose(DeviceId(to.peer), "this process has no descriptor left for its memory; raise the limit (ulimit -n)");
          return false;
        }
        try {
          const Fd none;
          to.link->addArena(message.a, fds.empty() ? none : fds[0], fds.empty() ? 0 : message.size);
        } catch (const Failure&) {
          lose(DeviceId(to.peer), "its memory cannot be mapped here");
          return false;
        }
      }
      return true;
    case kArenaGone:
      if (to.link) to.link->dropArena(message.a);
      return true;
    case kDetached:
      if (std::erase(to.releasing, message.a)) device_.freeQpIndex(message.a);
      return true;
    default:
      return true;
  }
}

bool ShmTransport::greet(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds) {
  try {
    if (message.id != to.peer) throw Failure("ERR_RDMC_CONNECT_FAILED", "the socket belongs to another device");
    if (fds.size() != 2) {
      throw Failure("ERR_RDMC_SYSTEM", "no descriptor left; raise the limit (ulimit -n)", EMFILE, "recvmsg");
    }
    ControlSegment control = ControlSegment::map(fds[0]);
    to.link = std::make_shared<PeerLink>(std::move(to.socket), std::move(control), std::move(fds[1]));
  } catch (const Failure& failure) {
    failWaiting(to, failure.code, failure.what());
    lose(DeviceId(to.peer), failure.what());
    return false;
  }
  for (const auto& waiting : to.waiting) {
    LinkMessage ask{};
    ask.type = kGetEvent;
    ask.a = waiting.remote.queuePair;
    to.link->send(ask);
  }
  return true;
}

void ShmTransport::attach(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds) {
  for (size_t i = 0; i < to.waiting.size(); ++i) {
    if (to.waiting[i].remote.queuePair != message.a) continue;
    const Waiting waiting = std::move(to.waiting[i]);
    to.waiting.erase(to.waiting.begin() + long(i));
    if (message.c == 0) {
      const Failure failure("ERR_RDMC_CONNECT_FAILED", "The peer has no queue pair " + std::to_string(message.a) +
                                                           ": it was closed, or the address is stale");
      return waiting.done(&failure);
    }
    if (message.c == 2 && fds.empty()) {
      const Failure failure("ERR_RDMC_SYSTEM",
                            "Cannot connect over shared memory: no descriptor left; raise the limit (ulimit -n)", EMFILE,
                            "recvmsg");
      return waiting.done(&failure);
    }
    if (message.c == 2) to.link->addEvent(message.b, message.size, std::move(fds[0]));
    const uint32_t own = waiting.qp->number();
    waiting.qp->attach(std::make_shared<ShmWire>(to.link, message.a, peerToken(device_.id(), own)),
                       peerToken(to.peer, message.a), waiting.parameters);
    if (!waiting.qp->wire()) {
      const Failure failure("ERR_RDMC_CONNECT_FAILED", "The queue pair was closed while it was connecting");
      return waiting.done(&failure);
    }
    to.link->poke();  // it may be waiting for us to connect
    return waiting.done(nullptr);
  }
}

int ShmTransport::turn() {
  const int64_t now = steadyNs();
  int nextMs = turnWaiting(now);
  const auto atMost = [&](int ms) { nextMs = nextMs < 0 ? ms : std::min(nextMs, ms); };
  if (!flush()) atMost(kFlushAgainMs);
  if (acceptAgainNs_ != 0) resumeAccepting(now);
  if (acceptAgainNs_ != 0) atMost(int((acceptAgainNs_ - now) / 1'000'000 + 1));
  return nextMs;
}

bool ShmTransport::flush() {
  bool all = true;
  for (auto& [peer, to] : outgoing_) all &= !to.link || to.link->flush();
  for (auto& [fd, from] : incoming_) {
    from.outbox.flush(fd);
    all &= from.outbox.empty();
  }
  return all;
}

void ShmTransport::resumeAccepting(int64_t now) {
  if (now < acceptAgainNs_) return;
  acceptAgainNs_ = 0;
  start();
}

int ShmTransport::turnWaiting(int64_t now) {
  int64_t nextNs = INT64_MAX;
  std::vector<Waiting> overdue;
  for (auto& [peer, to] : outgoing_) {
    std::erase_if(to.waiting, [&](Waiting& waiting) {
      if (waiting.deadlineNs > now) {
        nextNs = std::min(nextNs, waiting.deadlineNs);
        return false;
      }
      overdue.push_back(std::move(waiting));
      return true;
    });
  }
  const Failure failure("ERR_RDMC_CONNECT_FAILED",
                        "Cannot connect over shared memory: the peer's device does not answer; is its process stopped?");
  for (const auto& waiting : overdue) waiting.done(&failure);
  return nextNs == INT64_MAX ? -1 : int((nextNs - now) / 1'000'000 + 1);
}

void ShmTransport::failWaiting(Outgoing& to, const std::string& code, const std::string& why) {
  const Failure failure(code, "Cannot connect over shared memory: " + why);
  std::vector<Waiting> waiting;
  waiting.swap(to.waiting);
  for (const auto& each : waiting) each.done(&failure);
}

void ShmTransport::lose(const DeviceId& peer, const std::string& why) {
  const auto found = outgoing_.find(peer);
  if (found == outgoing_.end()) return;
  Outgoing to = std::move(found->second);
  outgoing_.erase(found);
  device_.service().unwatch(to.link ? to.link->socket() : to.socket.get());
  failWaiting(to, "ERR_RDMC_CONNECT_FAILED", why);
  for (uint32_t index : to.releasing) device_.freeQpIndex(index);
  if (!to.link) return;
  to.link->markLost();
  device_.eachQp([&](const std::shared_ptr<QueuePair>& qp) {
    const auto* wire = dynamic_cast<ShmWire*>(qp->wire().get());
    if (!wire || wire->link() != to.link) return;
    qp->fail(kRetryExceeded);
    // The peer may have died between publishing and waking us.
    qp->receiveCq()->notifyAlways();
  });
}

void ShmTransport::release(const std::shared_ptr<QueuePair>& qp) {
  const auto* wire = dynamic_cast<ShmWire*>(qp->wire().get());
  const auto link = wire ? wire->link() : nullptr;
  for (auto& [peer, to] : outgoing_) {
    if (!link || to.link != link) continue;
    LinkMessage message{};
    message.type = kDetach;
    message.a = wire->peerNumber();
    message.b = qp->index();
    to.releasing.push_back(qp->index());
    if (link->send(message)) return;
    std::erase(to.releasing, qp->index());
    break;
  }
  device_.freeQpIndex(qp->index());
}

}  // namespace rdmc
