#include "soft/tcp/nic.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/failure.h"
#include "soft/tcp/dialler.h"
#include "soft/tcp/listener.h"
#include "soft/tcp/requester.h"
#include "soft/tcp/responder.h"
#include "soft/tcp/socket.h"

namespace rdmc {

int64_t tcpNowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

TcpNic::TcpNic(SoftTransport& transport, SoftDevice& device)
    : transport_(transport), device_(device), link_(device.options().linkRate), inbox_(std::make_shared<TcpInbox>()) {
  Fd listener = tcpListen(device.options().host, device.options().port);
  port_ = tcpLocalPort(listener);
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) throw systemFailure("epoll_create1", "Starting the TCP transport", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // the inbox
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, inbox_->fd(), &event);
  watch(add<TcpListener>(std::move(listener)));
  // Signals belong to the application's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "rdmc-nic");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TcpNic::~TcpNic() { stop(); }

void TcpNic::stop() {
  std::lock_guard guard(stopLock_);
  if (!thread_.joinable()) return;
  stopping_ = true;
  inbox_->post([] {});
  thread_.join();
}

void TcpNic::mark(std::shared_ptr<TcpWire> wire) {
  if (!wire->marked.exchange(true, std::memory_order_seq_cst)) inbox_->mark(std::move(wire));
}

void TcpNic::mark(std::span<const std::shared_ptr<QueuePair>> queuePairs) {
  std::vector<std::shared_ptr<TcpWire>> wires;
  for (const auto& qp : queuePairs) {
    auto wire = std::static_pointer_cast<TcpWire>(qp->wire());
    if (!wire->marked.exchange(true, std::memory_order_seq_cst)) wires.push_back(std::move(wire));
  }
  if (!wires.empty()) inbox_->mark(std::move(wires));
}

void TcpNic::connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote,
                     const ConnectParameters& parameters, const ConnectCallback& done) {
  const bool posted = inbox_->post([this, qp, remote, parameters, done] {
    try {
      add<TcpDialler>(qp, remote, parameters, done).begin();
    } catch (const std::exception&) {
      const Failure failure = caughtFailure();
      done(&failure);
    }
  });
  if (posted) return;
  const Failure failure("ERR_RDMC_DEVICE_CLOSED", "The device is closed");
  done(&failure);
}

void TcpNic::release(const std::shared_ptr<QueuePair>& qp) {
  const bool posted = inbox_->post([this, qp] {
    if (const auto found = wire(qp->number())) {
      tearDown(*found);
      wires_.erase(qp->number());
      found->qp.reset();  // they held each other
    }
    device_.freeQpIndex(qp->index());
  });
  if (!posted) device_.freeQpIndex(qp->index());
}

// ---- connections

void TcpNic::adopt(std::unique_ptr<TcpConnection> connection) {
  connection->id = nextId_++;
  connections_.emplace(connection->id, std::move(connection));
}

void TcpNic::end(TcpConnection& connection) {
  if (connection.ended) return;
  connection.ended = true;
  unwatch(connection);
  const auto found = connections_.find(connection.id);
  ended_.push_back(std::move(found->second));
  connections_.erase(found);
}

TcpConnection* TcpNic::find(uint64_t id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

void TcpNic::watch(TcpConnection& connection) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &connection;
  // A socket that another connection has taken over is watched already; modifying it reports again what is ready.
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), &event) == 0) return;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.fd(), &event) != 0) {
    connection.readable = connection.hungUp = true;  // its turn gets the error
    enqueue(connection);
  }
}

// Closing a socket is not enough: it stays watched as long as another process has a copy of its descriptor, and every
// process that is being started has one for a while.
void TcpNic::unwatch(TcpConnection& connection) {
  if (connection.fd() >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd(), nullptr);
}

void TcpNic::enqueue(TcpConnection& connection) {
  if (connection.queued || connection.ended) return;
  connection.queued = true;
  ready_.push_back(&connection);
}

void TcpNic::setDeadline(TcpConnection& connection, int64_t atNs) {
  connection.deadlineNs = atNs;
  if (atNs != 0) nextDeadlineNs_ = std::min(nextDeadlineNs_, atNs);
}

// ---- queue pairs

std::shared_ptr<TcpWire> TcpNic::wire(uint32_t number) const {
  const auto found = wires_.find(number);
  return found == wires_.end() ? nullptr : found->second;
}

void TcpNic::addWire(const std::shared_ptr<TcpWire>& wire) { wires_[wire->qp->number()] = wire; }

void TcpNic::fail(TcpWire& wire, Status status) {
  const auto keep = wire.shared_from_this();
  if (wire.qp) wire.qp->fail(status);
  tearDown(wire);
}

void TcpNic::tearDown(TcpWire& wire) {
  if (wire.requester) wire.requester->leave();
  if (wire.responder) wire.responder->leave();
}

// ---- the loop

void TcpNic::turns() {
  while (!stopping_) {
    int timeout = ready_.empty() ? timeoutMs() : 0;
    if (timeout != 0 && !inbox_->goToSleep()) timeout = 0;
    handleEvents(timeout);
    inbox_->awake();
    handleInbox();
    handleReady();
    handleDeadlines();
    handleLink();
    bury();
  }
}

// This is the outermost frame: an exception that leaves it would end the process.
void TcpNic::run() {
  for (const auto part : {&TcpNic::turns, &TcpNic::finish}) {
    try {
      (this->*part)();
    } catch (const std::exception&) {
      device_.abandon(caughtFailure());
    }
  }
}

int TcpNic::timeoutMs() const {
  const int64_t wakeNs = std::min(nextDeadlineNs_, link_.wakeNs());
  if (wakeNs == INT64_MAX) return -1;
  return int(std::clamp<int64_t>((wakeNs - tcpNowNs()) / 1'000'000 + 1, 0, 60'000));
}

void TcpNic::handleEvents(int timeout) {
  epoll_event events[128];
  const int count = ::epoll_wait(epoll_.get(), events, 128, timeout);
  for (int i = 0; i < count; ++i) {
    auto* connection = static_cast<TcpConnection*>(events[i].data.ptr);
    if (!connection) {
      inbox_->drain();
      continue;
    }
    if (connection->ended) continue;
    const uint32_t what = events[i].events;
    if (what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) connection->readable = true;
    if (what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) connection->hungUp = true;
    if (what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) connection->writable = true;
    enqueue(*connection);
  }
}

void TcpNic::handleInbox() {
  std::vector<TcpInbox::Job> jobs;
  std::vector<std::shared_ptr<TcpWire>> marked;
  if (!inbox_->take(jobs, marked)) return;
  for (const auto& wire : marked) handleMarked(wire);
  for (auto& job : jobs) job();
}

void TcpNic::handleMarked(const std::shared_ptr<TcpWire>& wire) {
  wire->marked.store(false, std::memory_order_seq_cst);
  if (wire->closed()) return tearDown(*wire);
  if (wire->requester) enqueue(*wire->requester);
  if (wire->responder && wire->rnrWaiting.load(std::memory_order_relaxed)) enqueue(*wire->responder);
}

bool TcpNic::turn(TcpConnection& connection) {
  try {
    return connection.turn();
  } catch (const Failure& failure) {
    connection.failed(failure);
    return false;
  }
}

void TcpNic::handleReady() {
  std::vector<TcpConnection*> turns;
  turns.swap(ready_);
  for (TcpConnection* connection : turns) {
    connection->queued = false;
    if (!connection->ended && turn(*connection)) enqueue(*connection);
    link_.turnEnded(connection->id);
  }
}

void TcpNic::handleDeadlines() {
  if (nextDeadlineNs_ == INT64_MAX) return;
  const int64_t now = tcpNowNs();
  if (now < nextDeadlineNs_) return;
  nextDeadlineNs_ = INT64_MAX;
  eachConnection([&](TcpConnection& connection) {
    if (connection.deadlineNs == 0) return;
    if (now < connection.deadlineNs) {
      nextDeadlineNs_ = std::min(nextDeadlineNs_, connection.deadlineNs);
      return;
    }
    connection.deadlineNs = 0;
    connection.expire(now);
  });
}

void TcpNic::handleLink() {
  if (!link_.shaped()) return;
  const int64_t now = tcpNowNs();
  callFrom(link_.egress, now);
  callFrom(link_.ingress, now);
}

// Gives a turn to the connection that waits longest, where the lane is open.
void TcpNic::callFrom(TcpLane& lane, int64_t nowNs) {
  for (uint64_t id = lane.next(nowNs); id != 0; id = lane.next(nowNs)) {
    if (TcpConnection* connection = find(id)) return enqueue(*connection);
    lane.turnEnded(id);
  }
}

void TcpNic::bury() {
  if (ended_.empty()) return;
  std::erase_if(ready_, [](const TcpConnection* connection) { return connection->ended; });
  ended_.clear();
}

void TcpNic::finish() {
  inbox_->close();
  handleInbox();
  eachConnection([](TcpConnection& connection) { connection.deviceClosed(); });
  for (const auto& [number, wire] : wires_) {
    fail(*wire, kFlushed);
    wire->qp.reset();
  }
  // The last chance of responders that still have answers to send.
  eachConnection([](TcpConnection& connection) { connection.turn(); });
  ready_.clear();
  ended_.clear();
  connections_.clear();
  wires_.clear();
}

}  // namespace rdmc
