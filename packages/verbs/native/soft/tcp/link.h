// The link of a TCP device with the option `linkRate`: a token bucket for each direction, which all its connections
// share. NIC thread only, except `shaped`.
//
// A connection may move bytes while the bucket is not in debt, one quantum at most, and pays afterwards. So a system
// call moves a whole quantum also where the size of what has arrived is not known, and a small message waits only for
// the bytes before it, as on a wire. Connections that have to wait get their turns in the order in which they came; a queue
// pair with a weight has that many turns of sending in a row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

namespace rdmc {

constexpr int64_t kTcpLinkQuantumNs = 3'000'000;
// What an idle link may catch up. It is longer than the NIC thread oversleeps, whose timer counts in milliseconds.
constexpr int64_t kTcpLinkBurstNs = 4'000'000;
// Bytes cost what they take on a link with Ethernet's usual frames: the rate includes headers of Ethernet, IP and TCP.
constexpr size_t kTcpLinkFrameBytes = 1448;
constexpr size_t kTcpLinkHeaderBytes = 66;
constexpr size_t tcpWireBytes(size_t bytes) {
  return bytes + (bytes + kTcpLinkFrameBytes - 1) / kTcpLinkFrameBytes * kTcpLinkHeaderBytes;
}

// Read only where a link is shaped: the clock is not read for each system call of other devices.
using TcpClock = int64_t (*)();

class TcpBucket {
 public:
  explicit TcpBucket(uint64_t bitsPerSecond) : bitsPerSecond_(bitsPerSecond) {}
  bool open(int64_t nowNs);
  void charge(size_t bytes);
  int64_t opensNs() const { return paidNs_; }

 private:
  const uint64_t bitsPerSecond_;
  int64_t paidNs_ = INT64_MIN / 2;  // the time at which all that was moved is paid
  uint64_t remainder_ = 0;          // of the division in `charge`, so that no part of a nanosecond is lost
};

// One direction.
class TcpLane {
 public:
  explicit TcpLane(uint64_t bitsPerSecond) : bucket_(bitsPerSecond) {}
  // Whether the connection may move bytes. If not, `next` will name it.
  // A connection that has to wait after fewer turns in a row than its weight waits in front of the others.
  bool pass(uint64_t connection, uint32_t weight, int64_t nowNs);
  void charge(size_t bytes) { bucket_.charge(bytes); }
  // The connection that is to have a turn now; 0: none. One at a time: the next is named after `turnEnded`.
  uint64_t next(int64_t nowNs);
  void turnEnded(uint64_t connection);
  int64_t wakeNs() const { return waiting_.empty() || called_ != 0 ? INT64_MAX : bucket_.opensNs(); }

 private:
  TcpBucket bucket_;
  std::deque<uint64_t> waiting_;
  std::unordered_set<uint64_t> isWaiting_;
  uint64_t called_ = 0;
  uint64_t last_ = 0;   // had the last turn,
  uint32_t inRow_ = 0;  // and so many in a row
};

class TcpLink {
 public:
  // 0 bits per second: as fast as the machine.
  explicit TcpLink(uint64_t bitsPerSecond);
  bool shaped() const { return shaped_; }
  // Bytes that a connection moves in its turn.
  size_t turnBytes() const { return turnBytes_; }
  bool maySend(uint64_t connection, uint32_t weight, TcpClock now) {
    return !shaped_ || egress.pass(connection, weight, now());
  }
  bool mayReceive(uint64_t connection, TcpClock now) { return !shaped_ || ingress.pass(connection, 1, now()); }
  void sent(size_t bytes) {
    if (shaped_) egress.charge(tcpWireBytes(bytes));
  }
  void received(size_t bytes) {
    if (shaped_) ingress.charge(tcpWireBytes(bytes));
  }
  void turnEnded(uint64_t connection);
  int64_t wakeNs() const;

  TcpLane egress, ingress;

 private:
  const bool shaped_;
  const size_t turnBytes_;
};

}  // namespace rdmc
