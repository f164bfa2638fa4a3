#include "soft/tcp/requester.h"

#include <algorithm>
#include <mutex>

#include "soft/device.h"
#include "soft/tcp/nic.h"

namespace rdmc {
namespace {

constexpr int64_t kNotReadyTimeouts = 5;  // of retryTimeoutMs, after which a silent receiver is taken for dead

Status statusOf(uint8_t told) {
  switch (told) {
    case kRemoteInvalidRequest:
    case kRemoteAccessError:
    case kRnrRetryExceeded:
      return Status(told);
    default:
      return kRemoteOperationError;
  }
}

}  // namespace

TcpRequester::TcpRequester(TcpNic& nic, Fd socket, std::shared_ptr<TcpWire> wire, uint32_t retryTimeoutMs)
    : TcpConnection(nic, std::move(socket)),
      wire_(std::move(wire)),
      qp_(wire_->qp),
      retryTimeoutMs_(retryTimeoutMs),
      input_(nic.inputBuffers) {
  std::lock_guard guard(qp_->sendLock);
  wire_->window.socket = fd();
}

void TcpRequester::leave() {
  {
    std::lock_guard guard(qp_->sendLock);
    wire_->window.full = true;  // posting threads do not use the socket from here on
    wire_->window.socket = -1;
  }
  wire_->requester = nullptr;
  nic_.end(*this);
}

bool TcpRequester::breakOff(Status status) {
  nic_.fail(*wire_, status);
  return false;
}

bool TcpRequester::turn() {
  if (answersDone_) return false;
  bool more = false;
  return receive(more) && send(more) && more;
}

// ---- answers

bool TcpRequester::receive(bool& more) {
  size_t budget = nic_.link().turnBytes();
  for (;;) {
    if (sink_.remaining() > 0 && input_.buffered() > 0) {
      nic_.touch().enter();
      const bool allowed = !wire_->closed();
      if (allowed) input_.drain(sink_);
      nic_.touch().leave();
      if (!allowed) return false;
    }
    TcpResponse response;
    while (sink_.remaining() == 0 && input_.take(response)) {
      if (!handle(response)) return false;
    }
    if (sink_.remaining() > 0 && input_.buffered() > 0) continue;
    if (!readable) return true;
    if (budget == 0) {
      more = true;
      return true;
    }
    if (!nic_.link().mayReceive(id, tcpNowNs)) return true;
    if (!fill(budget)) return false;
  }
}

bool TcpRequester::fill(size_t& budget) {
  size_t placed = 0;
  const size_t buffered = input_.buffered();
  bool emptied = false;
  TcpMoved moved = TcpMoved::kNothing;
  if (sink_.remaining() > 0) {
    nic_.touch().enter();
    const bool allowed = !wire_->closed();
    if (allowed) moved = input_.fill(fd(), &sink_, budget, placed, emptied);
    nic_.touch().leave();
    if (!allowed) return false;
  } else {
    moved = input_.fill(fd(), nullptr, 0, placed, emptied);
  }
  if (moved == TcpMoved::kEnd) return answersEnded();
  nic_.link().received(placed + input_.buffered() - buffered);
  if (moved == TcpMoved::kNothing || (emptied && !hungUp)) readable = false;
  budget -= std::min(budget, std::max<size_t>(placed, 1024));
  return true;
}

// The peer is closing. Its earlier requests may still be in the other connection: they are placed before the queue pair
// fails.
bool TcpRequester::answersEnded() {
  if (!wire_->responder) return breakOff(kRetryExceeded);
  answersDone_ = true;
  {
    std::lock_guard guard(qp_->sendLock);
    wire_->window.full = true;  // posting threads do not use the socket from here on
  }
  leaveNs_ = tcpNowNs() + kTcpLingerMs * kMs;
  updateDeadline();
  return false;
}

bool TcpRequester::handle(const TcpResponse& response) {
  bool fits = response.zero == 0;
  if (fits) {
    std::lock_guard guard(qp_->sendLock);
    if (wire_->closed()) return false;
    fits = apply(response);
  }
  if (!fits) return breakOff(kGeneralError);
  if (wire_->closed()) {
    nic_.tearDown(*wire_);
    return false;
  }
  if (response.type == kTcpNotReady) {
    receiverNotReady();
  } else {
    if (response.type == kTcpAdmitted) admissionNs_ = 0;
    if (notReadyNs_ != 0) receiverReady();
  }
  return true;
}

bool TcpRequester::apply(const TcpResponse& response) {
  TcpSendWindow& window = wire_->window;
  switch (response.type) {
    case kTcpAdmitted:
      window.admitted = true;
      return true;
    case kTcpAck:
      return window.acknowledge(*qp_, response.sequence);
    case kTcpNak:
      return window.refuse(*qp_, response.sequence, statusOf(response.status));
    case kTcpReadData:
      return window.readData(*qp_, response, sink_);
    case kTcpValue:
      return window.value(*qp_, response.sequence, response.value);
    default:
      return response.type == kTcpNotReady;
  }
}

// ---- requests

bool TcpRequester::send(bool& more) {
  TcpSendWindow& window = wire_->window;
  TcpSendWindow::Batch batch;
  const bool room = writable;
  writable = false;
  const size_t most = nic_.link().turnBytes();
  for (size_t budget = most; budget > 0;) {
    {
      std::lock_guard guard(qp_->sendLock);
      if (wire_->closed()) break;
      if (room && budget == most) window.full = false;
      if (!window.admitted && qp_->runnable()) awaitAdmission();
      if (!window.admitted || window.full) return true;
      window.gather(*qp_, batch, budget);
      if (batch.bytes == 0 || !nic_.link().maySend(id, qp_->parameters().weight, tcpNowNs)) return true;
      window.sending = true;
    }
    size_t sent = 0;
    TcpMoved moved = TcpMoved::kNothing;
    nic_.touch().enter();
    if (!wire_->closed()) moved = tcpSend(fd(), batch.pieces, batch.count, sent);
    nic_.touch().leave();
    nic_.link().sent(sent);
    std::lock_guard guard(qp_->sendLock);
    window.sending = false;
    if (wire_->closed()) break;
    window.advance(batch, sent);
    window.full = sent < batch.bytes;
    if (window.tornSent) {
      qp_->device().tear().strike(fd());
      qp_->failLocked(kGeneralError);
      break;
    }
    if (moved == TcpMoved::kEnd) readable = hungUp = more = true;  // a read returns the error
    budget -= std::min(budget, batch.bytes);
  }
  if (wire_->closed()) {
    nic_.tearDown(*wire_);
    return false;
  }
  more = true;
  return true;
}

// ---- waiting

void TcpRequester::awaitAdmission() {
  if (admissionNs_ != 0) return;
  admissionNs_ = tcpNowNs() + int64_t(retryTimeoutMs_) * kMs;
  updateDeadline();
}

void TcpRequester::receiverNotReady() {
  // Its window may close while it waits, and must not count as a broken connection.
  if (notReadyNs_ == 0) tcpSetUserTimeout(socket_, 0);
  notReadyNs_ = tcpNowNs() + std::max<int64_t>(retryTimeoutMs_, kTcpNotReadyMs) * kNotReadyTimeouts * kMs;
  updateDeadline();
}

void TcpRequester::receiverReady() {
  notReadyNs_ = 0;
  tcpSetUserTimeout(socket_, retryTimeoutMs_);
}

void TcpRequester::peerLeft() {
  if (answersDone_) {
    breakOff(kRetryExceeded);
    return;
  }
  leaveNs_ = tcpNowNs() + kTcpGraceMs * kMs;
  updateDeadline();
}

void TcpRequester::updateDeadline() {
  int64_t earliest = 0;
  for (const int64_t each : {admissionNs_, leaveNs_, notReadyNs_}) {
    if (each != 0 && (earliest == 0 || each < earliest)) earliest = each;
  }
  nic_.setDeadline(*this, earliest);
}

void TcpRequester::expire(int64_t nowNs) {
  for (const int64_t each : {admissionNs_, leaveNs_, notReadyNs_}) {
    if (each != 0 && each <= nowNs) {
      breakOff(kRetryExceeded);
      return;
    }
  }
  updateDeadline();
}

}  // namespace rdmc
