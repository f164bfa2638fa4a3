#include "soft/shm/listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/failure.h"
#include "soft/shm/socket.h"
#include "soft/shm/wire.h"

namespace rdmc {
namespace {

constexpr int kBacklog = 512;
constexpr int64_t kAcceptPauseNs = 100'000'000;

}  // namespace

ShmListener::ShmListener(SoftDevice& device, const ShmWires& wires) : device_(device), wires_(wires) {
  listener_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_.valid()) throw systemFailure("socket", "Opening the local meeting point", errno);
  sockaddr_un address;
  const socklen_t length = abstractAddress(shmSocketName(device.id()), address);
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), kBacklog) != 0) {
    throw systemFailure("bind", "Opening the local meeting point", errno);
  }
}

void ShmListener::start() {
  try {
    device_.service().watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept(); });
    acceptAgainNs_ = 0;
  } catch (const Failure&) {
    acceptAgainNs_ = steadyNs() + kAcceptPauseNs;  // the kernel does not watch more descriptors for this user now
  }
}

void ShmListener::stop() {
  while (!incoming_.empty()) drop(incoming_.begin()->first);
  device_.service().unwatch(listener_.get());
  listener_.reset();
}

void ShmListener::accept() {
  // epoll reports again what is left.
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
      // It would be reported as readable for ever.
      device_.service().unwatch(listener_.get());
      acceptAgainNs_ = steadyNs() + kAcceptPauseNs;
      return;
    }
    if (sameUser(socket.get())) {
      welcome(std::move(socket));
      continue;
    }
    LinkMessage refused = linkMessage(kRefused);
    refused.refused.reason = kLinkOtherUser;
    sendLinkMessage(socket.get(), refused);
  }
}

void ShmListener::welcome(Fd socket) {
  const int fd = socket.get();
  Strangers::Address from{};
  const pid_t process = peerProcess(fd);
  std::memcpy(from.data(), &process, sizeof process);
  try {
    device_.service().watch(fd, EPOLLIN, [this, fd](uint32_t events) { onIncoming(fd, events); });
  } catch (const Failure&) {
    return;  // the kernel does not watch more descriptors for this user: the peer dials again
  }
  Incoming& made = incoming_[fd];
  made.socket = std::move(socket);
  made.link = ++links_;
  made.firstBytesNs = steadyNs() + kFirstBytesMs * 1'000'000;
  made.greetingNs = steadyNs() + kGreetingMs * 1'000'000;
  if (const uint64_t leaves = strangers_.add(uint64_t(fd), from); leaves != 0) drop(int(leaves));
  onIncoming(fd, EPOLLIN);  // a peer sends its hello at once
}

void ShmListener::drop(int fd) {
  strangers_.remove(uint64_t(fd));
  device_.service().unwatch(fd);
  const auto found = incoming_.find(fd);
  if (found == incoming_.end()) return;
  for (const auto& each : found->second.channels) {
    const auto channel = each.lock();
    // Its last ring may not have been read.
    if (channel && channel->bells().remove(found->second.link)) channel->signal();
  }
  incoming_.erase(found);
}

void ShmListener::onIncoming(int fd, uint32_t events) {
  const auto found = incoming_.find(fd);
  if (found == incoming_.end()) return;
  Incoming& from = found->second;
  // epoll reports again what is left.
  if (from.paused && (events & (EPOLLHUP | EPOLLERR))) return drop(fd);
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    // A peer that asks without reading the answers is not read until it has read them: they take memory and descriptors
    // here.
    from.paused = !from.outbox.empty();
    if (from.paused) return device_.service().rewatch(fd, 0);
    LinkMessage message;
    std::vector<Fd> fds;
    const int got = receiveLinkMessage(fd, message, fds);
    if (got == 0) return;
    if (got < 0) return drop(fd);
    if (from.stage == Incoming::Stage::kAdmitted) {
      serve(from, message);
    } else if (!greetBack(from, message)) {
      return drop(fd);
    }
  }
}

int ShmListener::turnStrangers(int64_t now) {
  int64_t nextNs = INT64_MAX;
  std::vector<int> overdue;
  strangers_.each([&](uint64_t id) {
    const Incoming& from = incoming_.at(int(id));
    const int64_t due = from.stage == Incoming::Stage::kHello ? from.firstBytesNs : from.greetingNs;
    if (due <= now) {
      overdue.push_back(int(id));
    } else {
      nextNs = std::min(nextNs, due);
    }
  });
  for (const int fd : overdue) drop(fd);
  return nextNs == INT64_MAX ? -1 : int((nextNs - now) / 1'000'000 + 1);
}

int ShmListener::turn() {
  const int64_t now = steadyNs();
  int nextMs = strangers_.size() > 0 ? turnStrangers(now) : -1;
  if (!flush()) nextMs = sooner(nextMs, kFlushAgainMs);
  if (acceptAgainNs_ != 0 && now >= acceptAgainNs_) start();
  if (acceptAgainNs_ != 0) nextMs = sooner(nextMs, int((acceptAgainNs_ - now) / 1'000'000 + 1));
  return nextMs;
}

// A connection whose peer reads nothing ends: requests on it end with RETRY_EXCEEDED at the peer.
bool ShmListener::flush() {
  bool all = true;
  std::vector<int> unread;
  for (auto& [fd, from] : incoming_) {
    from.outbox.flush(fd);
    if (from.outbox.overflown()) unread.push_back(fd);
    if (from.paused && from.outbox.empty()) {
      from.paused = false;
      device_.service().rewatch(fd, EPOLLIN);
    }
    all &= from.outbox.empty();
  }
  for (const int fd : unread) drop(fd);
  return all;
}

// ---- greeting those who dial

bool ShmListener::greetBack(Incoming& from, const LinkMessage& message) {
  strangers_.spoke(uint64_t(from.socket.get()));
  try {
    if (from.stage == Incoming::Stage::kHello && message.type == kHello) return onHello(from, message);
    if (from.stage == Incoming::Stage::kProof && message.type == kProof) return onProof(from, message);
  } catch (const Failure&) {
    // Random numbers or HMAC are not available: no peer can be admitted.
  }
  return false;
}

bool ShmListener::onHello(Incoming& from, const LinkMessage& message) {
  if (message.hello.version != kControlVersion) return refuse(from, kLinkOtherVersion);
  if ((message.hello.keyed == 1) != !key().empty()) return refuse(from, kLinkWrongKey);
  from.device = message.hello.device;
  if (key().empty()) return admit(from);
  from.greeting.initiator = from.device;
  from.greeting.listener = device_.id();
  std::memcpy(from.greeting.initiatorNonce, message.hello.secret, kNonceBytes);
  freshNonce(from.greeting.listenerNonce);
  LinkMessage challenge = linkMessage(kChallenge);
  std::memcpy(challenge.challenge.bytes, from.greeting.listenerNonce, kNonceBytes);
  from.stage = Incoming::Stage::kProof;
  return from.outbox.send(from.socket.get(), challenge);
}

bool ShmListener::onProof(Incoming& from, const LinkMessage& message) {
  if (!sameProof(message.proof.bytes, shmProof(key(), ShmRole::kInitiator, from.greeting)))
    return refuse(from, kLinkWrongKey);
  return admit(from);
}

bool ShmListener::admit(Incoming& from) {
  LinkMessage answer = shmHello(device_.id(), !key().empty());
  if (!key().empty()) {
    const Mac mac = shmProof(key(), ShmRole::kListener, from.greeting);
    std::memcpy(answer.hello.secret, mac.data(), mac.size());
  }
  from.stage = Incoming::Stage::kAdmitted;
  strangers_.remove(uint64_t(from.socket.get()));
  const int fd = device_.control().fd().get();
  return from.outbox.send(from.socket.get(), answer, &fd, 1);
}

bool ShmListener::refuse(Incoming& from, LinkRefusalReason reason) {
  LinkMessage refused = linkMessage(kRefused);
  refused.refused.reason = reason;
  refused.refused.version = kControlVersion;
  sendLinkMessage(from.socket.get(), refused);
  return false;
}

// ---- serving those who were admitted

void ShmListener::serve(Incoming& from, const LinkMessage& message) {
  switch (message.type) {
    case kGetArena:
      return serveArena(from, message.arena.id);
    case kGetEvent:
      return serveEvent(from, message.event.queuePair);
    case kDetach:
      return serveDetach(from, message);
    case kWake:
      return;  // a turn follows, which is what the message asks for
    case kPeerError:
      if (const auto qp = device_.qp(message.peerError.queuePair)) qp->fail(kFlushed);
      return;
    default:
      return;  // a newer peer may send messages of other types
  }
}

void ShmListener::serveArena(Incoming& from, uint32_t id) {
  LinkMessage answer = linkMessage(kArena);
  answer.arena.id = id;
  const auto arena = device_.pool().find(id);
  if (!arena) {
    from.outbox.send(from.socket.get(), answer);
    return;
  }
  answer.arena.bytes = arena->memory.length();
  const int fd = arena->fd.get();
  from.arenas.insert(id);
  from.outbox.send(from.socket.get(), answer, &fd, 1);
}

void ShmListener::serveEvent(Incoming& from, uint32_t queuePair) {
  LinkMessage answer = linkMessage(kEvent);
  answer.event.queuePair = queuePair;
  const auto qp = device_.qp(queuePair);
  if (!qp) {
    from.outbox.send(from.socket.get(), answer);
    return;
  }
  answer.event.completionQueue = qp->receiveCq()->index();
  const auto& channel = qp->receiveCq()->channel();
  answer.event.state = channel ? kLinkWithChannel : kLinkWithoutChannel;
  answer.event.channel = channel ? channel->id() : 0;
  const int fd = channel ? bellFor(from, channel) : -1;
  from.outbox.send(from.socket.get(), answer, &fd, fd >= 0 ? 1 : 0);
}

// -1: no descriptor is left for a bell; the peer sees that the message has none.
int ShmListener::bellFor(Incoming& from, const std::shared_ptr<SoftChannel>& channel) {
  try {
    const int fd = channel->bells().endFor(from.link);
    const bool known = std::any_of(from.channels.begin(), from.channels.end(),
                                   [&](const auto& each) { return each.lock() == channel; });
    if (!known) {
      std::erase_if(from.channels, [](const auto& each) { return each.expired(); });
      from.channels.push_back(channel);
    }
    return fd;
  } catch (const Failure&) {
    return -1;
  }
}

void ShmListener::serveDetach(Incoming& from, const LinkMessage& message) {
  const auto qp = device_.qp(message.detach.queuePair);
  const auto found = qp ? wires_.find(qp->index()) : wires_.end();
  // The sender may have connected a queue pair of its own to one that is connected to another, perhaps on purpose: of
  // each device, the first queue pair has the same index.
  if (found != wires_.end() && found->second.peer == from.device &&
      (found->second.wire->peerNumber() & (kMaxQps - 1)) == message.detach.index) {
    std::lock_guard guard(qp->sendLock);
    qp->failLocked(kRetryExceeded);
    found->second.wire->detach(*qp);
  }
  LinkMessage answer = linkMessage(kDetached);
  answer.detached.index = message.detach.index;
  from.outbox.send(from.socket.get(), answer);
}

void ShmListener::arenaGone(uint32_t id) {
  LinkMessage message = linkMessage(kArenaGone);
  message.arena.id = id;
  for (auto& [fd, from] : incoming_) {
    if (from.arenas.erase(id) > 0) from.outbox.send(fd, message);
  }
}

}  // namespace rdmc
