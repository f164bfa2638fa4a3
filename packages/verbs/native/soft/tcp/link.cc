#include "soft/tcp/link.h"

#include <algorithm>

#include "soft/tcp/frame.h"

namespace rdmc {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

size_t turnBytesOf(uint64_t bitsPerSecond) {
  if (bitsPerSecond == 0) return kTcpTurnBytes;
  const uint64_t bytes = bitsPerSecond / 8 * kTcpLinkQuantumNs / kSecondNs;
  return size_t(std::clamp<uint64_t>(bytes, kTcpLinkFrameBytes, kTcpTurnBytes));
}

}  // namespace

bool TcpBucket::open(int64_t nowNs) {
  paidNs_ = std::max(paidNs_, nowNs - kTcpLinkBurstNs);
  return paidNs_ <= nowNs;
}

void TcpBucket::charge(size_t bytes) {
  const uint64_t cost = uint64_t(bytes) * 8 * kSecondNs + remainder_;
  paidNs_ += int64_t(cost / bitsPerSecond_);
  remainder_ = cost % bitsPerSecond_;
}

bool TcpLane::pass(uint64_t connection, uint32_t weight, int64_t nowNs) {
  const bool called = called_ == connection;
  if (called) called_ = 0;
  const bool first = called || (waiting_.empty() && called_ == 0);
  if (first && bucket_.open(nowNs)) {
    inRow_ = connection == last_ ? inRow_ + 1 : 1;
    last_ = connection;
    return true;
  }
  if (!isWaiting_.insert(connection).second) return false;
  if (called || (connection == last_ && inRow_ < weight)) {
    waiting_.push_front(connection);
  } else {
    waiting_.push_back(connection);
  }
  return false;
}

uint64_t TcpLane::next(int64_t nowNs) {
  if (called_ != 0 || waiting_.empty() || !bucket_.open(nowNs)) return 0;
  called_ = waiting_.front();
  waiting_.pop_front();
  isWaiting_.erase(called_);
  return called_;
}

void TcpLane::turnEnded(uint64_t connection) {
  if (called_ == connection) called_ = 0;
}

TcpLink::TcpLink(uint64_t bitsPerSecond)
    : egress(bitsPerSecond),
      ingress(bitsPerSecond),
      shaped_(bitsPerSecond != 0),
      turnBytes_(turnBytesOf(bitsPerSecond)) {}

void TcpLink::turnEnded(uint64_t connection) {
  egress.turnEnded(connection);
  ingress.turnEnded(connection);
}

int64_t TcpLink::wakeNs() const { return std::min(egress.wakeNs(), ingress.wakeNs()); }

}  // namespace rdmc
