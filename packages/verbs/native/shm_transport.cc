#include "shm_transport.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "failure.h"
#include "hex.h"
#include "shm_socket.h"
#include "shm_wire.h"

namespace rdmc {
namespace {

constexpr int kBacklog = 512;
constexpr int64_t kAcceptPauseNs = 100'000'000;

}  // namespace

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

std::string ShmTransport::socketName(const DeviceId& id) { return "rdmc-soft-" + toHex(id); }

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

}  // namespace rdmc
