#include "soft/shm/dialler.h"

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

constexpr int64_t kDialAgainMs = 5;

// A queue pair has the token of its peer in its page, so that other queue pairs do not use the page.
uint64_t peerToken(const DeviceId& device, uint32_t queuePair) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint8_t byte : device) hash = (hash ^ byte) * 0x100000001b3;
  for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((queuePair >> shift) & 0xff)) * 0x100000001b3;
  return hash | 1;
}

std::string differentKeys(bool weHaveNone) {
  return weHaveNone ? "the peer has a key, we have none; give all peers the same key"
                    : "the peer has another key, or none; give all peers the same key (without the option `key`, it is "
                      "the user's, and both must find the same file)";
}

}  // namespace

void ShmDialler::stop() {
  while (!outgoing_.empty()) lose(outgoing_.begin()->first, "the device is closed");
}

ShmDialler::Outgoing* ShmDialler::dial(const DeviceId& peer, std::string& why) {
  const auto found = outgoing_.find(peer);
  if (found != outgoing_.end()) return &found->second;
  Outgoing& to = outgoing_[peer];
  to.peer = peer;
  if (open(to, why)) return &to;
  outgoing_.erase(peer);
  return nullptr;
}

bool ShmDialler::open(Outgoing& to, std::string& why) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) {
    why = systemFailure("socket", "Connecting to a local peer", errno).what();
    return false;
  }
  sockaddr_un address;
  const std::string name = shmSocketName(to.peer);
  const socklen_t length = abstractAddress(name, address);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno == EAGAIN) {  // its backlog is full
      to.dialAgainNs = steadyNs() + kDialAgainMs * 1'000'000;
      return true;
    }
    why = "no device listens at the abstract socket " + name + " (" + errorText(errno) +
          "): its process has ended, or it lives in another network namespace";
    return false;
  }
  if (!sameUser(socket.get())) {
    why = "the peer runs as another user: shared memory is for processes of one user; use transport 'tcp'";
    return false;
  }
  try {
    LinkMessage first = shmHello(device_.id(), !key().empty());
    to.greeting.initiator = device_.id();
    to.greeting.listener = to.peer;
    to.proved = false;
    if (!key().empty()) freshNonce(to.greeting.initiatorNonce);
    std::memcpy(first.hello.secret, to.greeting.initiatorNonce, kNonceBytes);
    const DeviceId peer = to.peer;
    device_.service().watch(socket.get(), EPOLLIN, [this, peer](uint32_t) { onOutgoing(peer); });
    sendLinkMessage(socket.get(), first);
  } catch (const Failure& failure) {
    why = failure.what();
    return false;
  }
  to.socket = std::move(socket);
  return true;
}

// Dials again the peers that were not reached, as long as a connect waits for them; milliseconds until the next
// attempt, -1 for never.
int ShmDialler::redial(int64_t now) {
  std::vector<std::pair<DeviceId, std::string>> unreachable;
  std::vector<DeviceId> forgotten;
  bool later = false;
  for (auto& [peer, to] : outgoing_) {
    if (to.link || to.socket.valid()) continue;
    std::string why;
    if (to.waiting.empty()) {
      forgotten.push_back(peer);
    } else if (now >= to.dialAgainNs && !open(to, why)) {
      unreachable.emplace_back(peer, why);
    } else {
      later |= !to.socket.valid();
    }
  }
  for (const auto& peer : forgotten) outgoing_.erase(peer);
  for (const auto& [peer, why] : unreachable) lose(peer, why);
  return later ? int(kDialAgainMs) : -1;
}

void ShmDialler::connect(Waiting waiting) {
  std::string why;
  Outgoing* to = dial(waiting.remote.device, why);
  if (!to) {
    const Failure failure("ERR_RDMC_CONNECT_FAILED", "Cannot reach the peer over shared memory: " + why);
    return waiting.done(&failure);
  }
  LinkMessage ask = linkMessage(kGetEvent);
  ask.event.queuePair = waiting.remote.queuePair;
  waiting.deadlineNs = steadyNs() + int64_t(waiting.parameters.retryTimeoutMs) * 1'000'000;
  to->waiting.push_back(std::move(waiting));
  if (to->link) to->link->send(ask);
}

void ShmDialler::onOutgoing(const DeviceId& peer) {
  // epoll reports again what is left.
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    const auto found = outgoing_.find(peer);
    if (found == outgoing_.end()) return;
    Outgoing& to = found->second;
    LinkMessage message;
    std::vector<Fd> fds;
    const int fd = to.link ? to.link->socket() : to.socket.get();
    if (fd < 0) return;
    const int got = receiveLinkMessage(fd, message, fds);
    if (got == 0) return;
    if (got < 0 && to.link) return lose(peer, "the peer's process has ended");
    if (got < 0) {
      // It had too many strangers, or it has ended: the next attempt shows which.
      device_.service().unwatch(fd);
      to.dialAgainNs = steadyNs() + kDialAgainMs * 1'000'000;
      return to.socket.reset();
    }
    if (!handle(to, message, fds)) return;
  }
}

bool ShmDialler::handle(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds) {
  switch (message.type) {
    case kHello:
      return to.link || greet(to, message, fds);
    case kChallenge:
      return to.link || onChallenge(to, message);
    case kRefused:
      onRefused(to, message);
      return false;
    case kEvent:
      if (to.link) onEvent(to, message, fds);
      return true;
    case kArena:
      return !to.link || onArena(to, message, fds);
    case kArenaGone:
      if (to.link) to.link->dropArena(message.arena.id);
      return true;
    case kDetached:
      if (std::erase(to.releasing, message.detached.index)) device_.freeQpIndex(message.detached.index);
      return true;
    default:
      return true;
  }
}

void ShmDialler::onRefused(Outgoing& to, const LinkMessage& message) {
  switch (message.refused.reason) {
    case kLinkOtherVersion:
      failWaiting(to, "ERR_RDMC_PROTOCOL_VERSION",
                  "the peer speaks version " + std::to_string(message.refused.version) +
                      " of the soft device, we speak " + std::to_string(kControlVersion));
      break;
    case kLinkWrongKey:
      failWaiting(to, "ERR_RDMC_WRONG_KEY", differentKeys(key().empty()));
      break;
    default:
      failWaiting(to, "ERR_RDMC_CONNECT_FAILED", "the peer runs as another user");
  }
  lose(DeviceId(to.peer), "refused");
}

bool ShmDialler::onArena(Outgoing& to, const LinkMessage& message, const std::vector<Fd>& fds) {
  const bool gone = message.arena.bytes == 0;
  if (!gone && fds.empty()) {
    lose(DeviceId(to.peer), "this process has no descriptor left for its memory; raise the limit (ulimit -n)");
    return false;
  }
  try {
    const Fd none;
    to.link->addArena(message.arena.id, gone ? none : fds[0], message.arena.bytes);
  } catch (const Failure& failure) {
    lose(DeviceId(to.peer), std::string("its memory cannot be mapped here: ") + failure.what());
    return false;
  }
  return true;
}

// The peer wants to know whether we have the key.
bool ShmDialler::onChallenge(Outgoing& to, const LinkMessage& message) {
  LinkMessage answer = linkMessage(kProof);
  try {
    if (key().empty() || to.proved) throw Failure("ERR_RDMC_CONNECT_FAILED", "it greets in a way no soft device does");
    std::memcpy(to.greeting.listenerNonce, message.challenge.bytes, kNonceBytes);
    const Mac mac = shmProof(key(), ShmRole::kInitiator, to.greeting);
    std::memcpy(answer.proof.bytes, mac.data(), mac.size());
  } catch (const Failure& failure) {
    failWaiting(to, failure.code, failure.what());
    lose(DeviceId(to.peer), failure.what());
    return false;
  }
  to.proved = true;
  sendLinkMessage(to.socket.get(), answer);
  return true;
}

bool ShmDialler::greet(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds) {
  try {
    if (message.hello.device != to.peer)
      throw Failure("ERR_RDMC_CONNECT_FAILED", "the socket belongs to another device");
    // Before any of its memory is mapped.
    if (!key().empty() &&
        (!to.proved || !sameProof(message.hello.secret, shmProof(key(), ShmRole::kListener, to.greeting)))) {
      throw Failure("ERR_RDMC_WRONG_KEY", "the peer does not know our key");
    }
    if (fds.size() != 1) {
      throw Failure("ERR_RDMC_SYSTEM", "no descriptor left; raise the limit (ulimit -n)", EMFILE, "recvmsg");
    }
    ControlSegment control = ControlSegment::map(fds[0]);
    to.link = std::make_shared<PeerLink>(std::move(to.socket), std::move(control));
  } catch (const Failure& failure) {
    failWaiting(to, failure.code, failure.what());
    lose(DeviceId(to.peer), failure.what());
    return false;
  }
  for (const auto& waiting : to.waiting) {
    LinkMessage ask = linkMessage(kGetEvent);
    ask.event.queuePair = waiting.remote.queuePair;
    to.link->send(ask);
  }
  return true;
}

void ShmDialler::onEvent(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds) {
  const auto asked = [&](const Waiting& each) { return each.remote.queuePair == message.event.queuePair; };
  const auto found = std::find_if(to.waiting.begin(), to.waiting.end(), asked);
  if (found == to.waiting.end()) return;
  const Waiting waiting = std::move(*found);
  to.waiting.erase(found);
  try {
    attach(to, waiting, message, fds);
  } catch (const Failure& failure) {
    return waiting.done(&failure);
  }
  to.link->poke();  // it may be waiting for us to connect
  waiting.done(nullptr);
}

void ShmDialler::attach(const Outgoing& to, const Waiting& waiting, const LinkMessage& message, std::vector<Fd>& fds) {
  const uint32_t theirs = message.event.queuePair;
  if (message.event.state == kLinkNoQueuePair) {
    throw Failure("ERR_RDMC_CONNECT_FAILED",
                  "The peer has no queue pair " + std::to_string(theirs) + ": it was closed, or the address is stale");
  }
  const bool withChannel = message.event.state == kLinkWithChannel;
  if (withChannel && fds.empty()) {
    throw Failure("ERR_RDMC_SYSTEM",
                  "Cannot connect over shared memory: no descriptor left here, or at the peer; raise the limit "
                  "(ulimit -n)",
                  EMFILE, "recvmsg");
  }
  if (withChannel) to.link->addEvent(message.event.completionQueue, message.event.channel, std::move(fds[0]));
  const uint32_t ring = readOnce(to.link->control().qp(theirs & (kMaxQps - 1)).receiveRing);
  if (ring == 0 || ring > kMaxReceiveDepth) {
    throw Failure("ERR_RDMC_CONNECT_FAILED",
                  "Cannot connect over shared memory: the peer announces a receive queue of " + std::to_string(ring) +
                      " entries; 1 to " + std::to_string(kMaxReceiveDepth) + " are possible");
  }
  QueuePair& own = *waiting.qp;
  const ShmWire::Peer peer{to.link, theirs, ring, to.peer == device_.id()};
  const auto wire = std::make_shared<ShmWire>(transport_, peer, peerToken(device_.id(), own.number()),
                                              waiting.parameters.retryTimeoutMs);
  own.attach(wire, peerToken(to.peer, theirs), waiting.parameters);
  if (!own.wire()) {
    throw Failure("ERR_RDMC_CONNECT_FAILED", "The queue pair was closed while it was connecting");
  }
  wires_[own.index()] = {own.number(), to.peer, wire};
}

int ShmDialler::turn() {
  const int64_t now = steadyNs();
  const int nextMs = sooner(turnWaiting(now), redial(now));
  return flush() ? nextMs : sooner(nextMs, kFlushAgainMs);
}

// A peer that reads nothing is lost: requests to it end with RETRY_EXCEEDED, connects with ERR_RDMC_CONNECT_FAILED.
bool ShmDialler::flush() {
  bool all = true;
  std::vector<DeviceId> unread;
  for (auto& [peer, to] : outgoing_) {
    const auto flushed = to.link ? to.link->flush() : PeerLink::Flushed::kAll;
    if (flushed == PeerLink::Flushed::kNeverRead) unread.push_back(peer);
    all &= flushed == PeerLink::Flushed::kAll;
  }
  for (const auto& peer : unread) lose(peer, "the peer reads none of our messages; is its process stopped?");
  return all;
}

int ShmDialler::turnWaiting(int64_t now) {
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
  const Failure failure(
      "ERR_RDMC_CONNECT_FAILED",
      "Cannot connect over shared memory: the peer's device does not answer; is its process stopped?");
  for (const auto& waiting : overdue) waiting.done(&failure);
  return nextNs == INT64_MAX ? -1 : int((nextNs - now) / 1'000'000 + 1);
}

void ShmDialler::failWaiting(Outgoing& to, const std::string& code, const std::string& why) {
  const Failure failure(code, "Cannot connect over shared memory: " + why);
  std::vector<Waiting> waiting;
  waiting.swap(to.waiting);
  for (const auto& each : waiting) each.done(&failure);
}

void ShmDialler::lose(const DeviceId& peer, const std::string& why) {
  const auto found = outgoing_.find(peer);
  if (found == outgoing_.end()) return;
  Outgoing to = std::move(found->second);
  outgoing_.erase(found);
  // The socket of a peer that is dialled again is closed already.
  if (to.link || to.socket.valid()) device_.service().unwatch(to.link ? to.link->socket() : to.socket.get());
  failWaiting(to, "ERR_RDMC_CONNECT_FAILED", why);
  for (uint32_t index : to.releasing) device_.freeQpIndex(index);
  if (!to.link) return;
  to.link->markLost();
  for (const auto& [index, each] : wires_) {
    const auto qp = each.wire->link() == to.link ? device_.qp(each.number) : nullptr;
    if (!qp) continue;
    qp->fail(kRetryExceeded);
    // The peer may have died between publishing and waking us.
    qp->receiveCq()->notifyAlways();
  }
}

void ShmDialler::release(const QueuePair& qp) {
  const auto mine = wires_.extract(qp.index());
  for (auto& [peer, to] : outgoing_) {
    if (!mine || to.link != mine.mapped().wire->link()) continue;
    LinkMessage message = linkMessage(kDetach);
    message.detach.queuePair = mine.mapped().wire->peerNumber();
    message.detach.index = qp.index();
    to.releasing.push_back(qp.index());
    if (to.link->send(message)) return;
    std::erase(to.releasing, qp.index());
    break;
  }
  device_.freeQpIndex(qp.index());
}

}  // namespace rdmc
