// The NIC: one thread that owns all sockets of the TCP transport and moves every byte. It sleeps in epoll_wait and
// never spins.
//
// Other threads pass it jobs (connect, release) and marks (a queue pair has something to do). It takes a
// queue pair's sendLock for bookkeeping only, never within touch().enter() and leave().
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "soft/device.h"
#include "soft/strangers.h"
#include "soft/tcp/connection.h"
#include "soft/tcp/frame.h"
#include "soft/tcp/input.h"
#include "soft/tcp/link.h"
#include "soft/tcp/touch.h"
#include "soft/tcp/wire.h"
#include "soft/transport.h"

namespace rdmc {

class TcpParked;

// It outlives the NIC, for threads that look up names.
class TcpInbox {
 public:
  using Job = std::function<void()>;
  TcpInbox();
  bool post(Job job);  // false: the NIC has stopped
  void mark(std::shared_ptr<TcpWire> wire);
  void mark(std::vector<std::shared_ptr<TcpWire>>&& wires);  // all in one go
  void wake();
  // NIC thread.
  bool take(std::vector<Job>& jobs, std::vector<std::shared_ptr<TcpWire>>& marked);
  bool goToSleep();  // false: there is something to do
  void awake() { sleeping_.store(false, std::memory_order_seq_cst); }
  void drain();
  void close();
  int fd() const { return event_.get(); }

 private:
  void ring();
  Fd event_;
  std::mutex mutex_;
  std::vector<Job> jobs_;
  std::vector<std::shared_ptr<TcpWire>> marked_;
  bool closed_ = false;
  std::atomic<bool> sleeping_{false};
};

class TcpNic {
 public:
  TcpNic(SoftTransport& transport, SoftDevice& device);
  ~TcpNic();
  void stop();

  SoftDevice& device() const { return device_; }
  SoftTransport& transport() const { return transport_; }
  uint16_t port() const { return port_; }
  TcpTouch& touch() { return touch_; }
  TcpLink& link() { return link_; }
  const std::shared_ptr<TcpInbox>& inbox() const { return inbox_; }
  void mark(std::shared_ptr<TcpWire> wire);
  void mark(std::span<const std::shared_ptr<QueuePair>> queuePairs);
  void connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote, const ConnectParameters& parameters,
               const ConnectCallback& done);
  void release(const std::shared_ptr<QueuePair>& qp);

  // NIC thread only.
  template <typename Connection, typename... Arguments>
  Connection& add(Arguments&&... arguments) {
    auto made = std::make_unique<Connection>(*this, std::forward<Arguments>(arguments)...);
    Connection& connection = *made;
    adopt(std::move(made));
    return connection;
  }
  void end(TcpConnection& connection);  // deleted after this turn
  TcpConnection* find(uint64_t id) const;
  void watch(TcpConnection& connection);
  void unwatch(TcpConnection& connection);  // before its socket is closed
  void enqueue(TcpConnection& connection);
  bool turn(TcpConnection& connection);  // TcpConnection::turn, where it may throw
  void setDeadline(TcpConnection& connection, int64_t atNs);
  template <typename Visit>
  void eachConnection(Visit visit) {
    std::vector<TcpConnection*> all;
    for (const auto& [id, connection] : connections_) all.push_back(connection.get());
    for (TcpConnection* connection : all) {
      if (!connection->ended) visit(*connection);
    }
  }
  std::shared_ptr<TcpWire> wire(uint32_t number) const;
  void addWire(const std::shared_ptr<TcpWire>& wire);
  // The queue pair has failed: its connections end.
  void tearDown(TcpWire& wire);
  void fail(TcpWire& wire, Status status);

  TcpInputBuffers inputBuffers;                          // outlives the connections
  Strangers strangers;                                   // by connection id
  std::unordered_multimap<uint32_t, TcpParked*> parked;  // by the queue pair they wait for

 private:
  void adopt(std::unique_ptr<TcpConnection> connection);
  void run();
  void turns();  // until it is stopped
  void handleEvents(int timeoutMs);
  void handleInbox();
  void handleMarked(const std::shared_ptr<TcpWire>& wire);
  void handleReady();
  void handleDeadlines();
  void handleLink();
  void callFrom(TcpLane& lane, int64_t nowNs);
  int timeoutMs() const;
  void bury();
  void finish();

  SoftTransport& transport_;
  SoftDevice& device_;
  TcpTouch touch_;
  TcpLink link_;
  std::shared_ptr<TcpInbox> inbox_;
  Fd epoll_;
  uint16_t port_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<TcpConnection>> connections_;
  std::vector<std::unique_ptr<TcpConnection>> ended_;
  std::unordered_map<uint32_t, std::shared_ptr<TcpWire>> wires_;
  std::vector<TcpConnection*> ready_;
  uint64_t nextId_ = 1;
  int64_t nextDeadlineNs_ = INT64_MAX;
  std::atomic<bool> stopping_{false};
  std::mutex stopLock_;
  std::thread thread_;
};

int64_t tcpNowNs();

}  // namespace rdmc
