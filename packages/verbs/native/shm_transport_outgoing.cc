// The half of ShmTransport that asks others: for their control segments, memory, and how to wake them.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "failure.h"
#include "shm_socket.h"
#include "shm_transport.h"
#include "shm_wire.h"

namespace rdmc {
namespace {

constexpr int kFlushAgainMs = 5;

}  // namespace

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
