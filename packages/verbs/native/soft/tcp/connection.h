// A socket of the NIC thread. Edge-triggered: `readable` and `writable` stay set until a call would block.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/failure.h"
#include "core/raii.h"

namespace rdmc {

class TcpNic;
struct TcpEndpoint;

class TcpConnection {
 public:
  TcpConnection(TcpNic& nic, Fd socket) : nic_(nic), socket_(std::move(socket)) {}
  virtual ~TcpConnection() = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // One turn: moves a bounded number of bytes. Returns whether there is more to do at once.
  virtual bool turn() = 0;
  // `deadlineNs` has passed; it was set to 0 before the call.
  virtual void expire(int64_t nowNs) { (void)nowNs; }

  // The host name that it asked for was looked up; without endpoints, `why` has the reason.
  virtual void resolved(const std::vector<TcpEndpoint>& endpoints, const std::string& why) {
    (void)endpoints, (void)why;
  }
  virtual void deviceClosed() {}

  // A turn threw this. A connection whose failure concerns itself only overrides it; by default the whole NIC fails.
  virtual void failed(const Failure& failure) { throw failure; }

  int fd() const { return socket_.get(); }

  // Kept by the NIC.
  bool readable = false, writable = false, hungUp = false;
  bool queued = false, ended = false;
  int64_t deadlineNs = 0;
  uint64_t id = 0;

 protected:
  TcpNic& nic_;
  Fd socket_;
};

}  // namespace rdmc
