#include "soft/tcp/responder.h"

#include <algorithm>

#include "core/failure.h"
#include "core/scatter_gather.h"
#include "soft/tcp/nic.h"
#include "soft/tcp/region.h"
#include "soft/tcp/requester.h"

namespace rdmc {
namespace {

constexpr int64_t kFirstNoticeMs = 300;

}  // namespace

TcpResponder::TcpResponder(TcpNic& nic, Fd socket, std::shared_ptr<TcpWire> wire, const TcpHello& hello)
    : TcpConnection(nic, std::move(socket)),
      wire_(std::move(wire)),
      qp_(wire_->qp),
      rnrRetries_(hello.rnrRetries),
      rnrTimerMs_(hello.rnrTimerMs),
      input_(nic.inputBuffers) {}

bool TcpResponder::turn() {
  if (!wire_) return lastWords();
  bool more = false;
  if (!flush() || !receive(more) || !flush()) return false;
  return more || (waiting_ && !wire_->rnrWaiting && replies_.size() < kTcpMaxUnanswered);
}

void TcpResponder::leave() {
  if (!wire_) return;
  wire_->rnrWaiting = false;
  wire_->responder = nullptr;
  if (piece_.length > 0) {
    out_.clear();  // an answer cannot be sent in the middle of a READ's data
    outSent_ = 0;
  } else if (replies_.empty() && acknowledged_ != sequence_ && !refusalSaid_) {
    respond(kTcpAck, sequence_ - 1);
  }
  wire_.reset();
  qp_.reset();
  nic_.setDeadline(*this, tcpNowNs() + kTcpLingerMs * kMs);
  nic_.enqueue(*this);
}

void TcpResponder::expire(int64_t nowNs) {
  if (!wire_) return nic_.end(*this);
  if (!waiting_ || !wire_->rnrWaiting) return;
  if (rnrDeadlineNs_ != 0 && nowNs >= rnrDeadlineNs_) {
    waiting_ = false;
    wire_->rnrWaiting = false;
    refuse(kRnrRetryExceeded);
  } else {
    if (nowNs >= rnrNoticeNs_) {
      noticeDue_ = true;
      rnrNoticeNs_ = nowNs + kTcpNotReadyMs * kMs;
    }
    nic_.setDeadline(*this, rnrDeadlineNs_ == 0 ? rnrNoticeNs_ : std::min(rnrDeadlineNs_, rnrNoticeNs_));
  }
  nic_.enqueue(*this);
}

// ---- reading

bool TcpResponder::receive(bool& more) {
  size_t budget = nic_.link().turnBytes();
  while (!refusal_) {
    while (step()) {
    }
    // Closed by another thread: its mark is on the way.
    if (!wire_ || wire_->closed()) return false;
    if (refusal_) return true;
    if (waiting_) {
      // An initiator that is gone needs no receive any more.
      if (hungUp && wire_->rnrWaiting) break;
      return true;
    }
    if (!readable) return true;
    if (budget == 0) {
      more = true;
      return true;
    }
    if (!nic_.link().mayReceive(id, tcpNowNs)) return true;
    if (!fill(budget)) break;
  }
  if (refusal_) return true;
  // The end. The other connection may still hold answers to our own requests.
  const auto wire = wire_;
  leave();
  if (wire->requester) wire->requester->peerLeft();
  return false;
}

// False at the end of the stream.
bool TcpResponder::fill(size_t& budget) {
  size_t placed = 0;
  const size_t buffered = input_.buffered();
  bool emptied = false;
  TcpMoved moved = TcpMoved::kNothing;
  if (sink_.remaining() > 0) {
    nic_.touch().enter();
    const bool allowed = mayPlace();
    if (allowed) moved = input_.fill(fd(), &sink_, budget, placed, emptied);
    nic_.touch().leave();
    if (!allowed) {
      refuse(takesReceive(request_.opcode) && request_.opcode != kWriteWithImm ? kRemoteOperationError
                                                                               : kRemoteAccessError);
      return true;
    }
  } else {
    moved = input_.fill(fd(), nullptr, 0, placed, emptied);
  }
  if (moved == TcpMoved::kEnd) return false;
  nic_.link().received(placed + input_.buffered() - buffered);
  if (moved == TcpMoved::kNothing || (emptied && !hungUp)) readable = false;
  budget -= std::min(budget, std::max<size_t>(placed, 1024));
  return true;
}

// One step with what is buffered; false when it needs more bytes, or has to wait.
bool TcpResponder::step() {
  if (!wire_ || refusal_) return false;
  switch (phase_) {
    case Phase::kHeader:
      if (!input_.take(request_)) return false;
      if (request_.sequence != sequence_ || request_.opcode > kFetchAndAdd || request_.flags > kTcpSolicited ||
          request_.zero != 0 || request_.zero2 != 0 || request_.length > kMaxMessageBytes) {
        return protocolError();
      }
      phase_ = Phase::kBegin;
      return true;
    case Phase::kBegin:
      return begin();
    default:
      return sink_.remaining() > 0 ? drainBuffer() : finish();
  }
}

bool TcpResponder::begin() {
  waiting_ = false;
  if (wire_->closed()) return false;
  if (takesReceive(request_.opcode) && !receiverReady()) return false;
  phase_ = Phase::kPayload;
  sink_.clear();
  switch (request_.opcode) {
    case kWrite:
    case kWriteWithImm:
      return beginWrite();
    case kRead:
      return beginRead();
    case kCompareAndSwap:
    case kFetchAndAdd:
      return atomic();
    default:
      return beginSend();
  }
}

// Whether a receive is posted; if not, waits for one as long as the initiator allows.
bool TcpResponder::receiverReady() {
  const SharedQp& page = qp_->shared();
  const auto posted = [&] {
    return page.receivesPosted.load(std::memory_order_seq_cst) != page.produced.load(std::memory_order_relaxed);
  };
  if (!posted()) {
    wire_->rnrWaiting.store(true, std::memory_order_seq_cst);
    if (!posted()) {
      if (rnrRetries_ == 0) {
        wire_->rnrWaiting.store(false, std::memory_order_relaxed);
        return refuse(kRnrRetryExceeded);
      }
      waiting_ = true;
      if (rnrNoticeNs_ == 0) {
        const int64_t now = tcpNowNs();
        rnrNoticeNs_ = now + kFirstNoticeMs * kMs;
        rnrDeadlineNs_ = rnrRetries_ >= 7 ? 0 : now + int64_t(rnrRetries_) * rnrTimerMs_ * kMs;
        nic_.setDeadline(*this, rnrDeadlineNs_ == 0 ? rnrNoticeNs_ : std::min(rnrDeadlineNs_, rnrNoticeNs_));
      }
      return false;
    }
  }
  wire_->rnrWaiting.store(false, std::memory_order_relaxed);
  rnrNoticeNs_ = rnrDeadlineNs_ = 0;
  const ReceiveSlot* next = qp_->nextReceive();
  // Local peers map the page, and may have changed it.
  if (!next) return refuse(kRemoteOperationError);
  slot_ = readOnce(*next);
  return true;
}

bool TcpResponder::beginWrite() {
  if (request_.length == 0) return true;
  if (!mayPlace()) return refuse(kRemoteAccessError);
  sink_.add(tcpMemory(*qp_, request_.rkey, request_.remote), request_.length);
  return true;
}

bool TcpResponder::beginSend() {
  uint64_t room = 0;
  const uint32_t entries = std::min(slot_.sgeCount, kMaxSge);
  for (uint32_t i = 0; i < entries; ++i) room += slot_.sge[i].length;
  if (request_.length > room) return refuse(kRemoteInvalidRequest, true);
  for (uint32_t i = 0; i < entries; ++i) {
    const Sge& sge = slot_.sge[i];
    sink_.add(tcpMemory(*qp_, sge.lkey, sge.address()), sge.length);
  }
  sink_.limit(request_.length);
  return true;
}

bool TcpResponder::beginRead() {
  if (replies_.size() >= kTcpMaxUnanswered) {
    phase_ = Phase::kBegin;
    waiting_ = true;
    return false;
  }
  if (request_.length == 0) return finish();
  if (!tcpPermits(*qp_, request_.rkey, request_.remote, request_.length, kRemoteRead)) {
    return refuse(kRemoteAccessError);
  }
  replies_.push_back({sequence_, true, request_.rkey, request_.length, request_.remote, 0});
  return finish();
}

bool TcpResponder::atomic() {
  if (replies_.size() >= kTcpMaxUnanswered) {
    phase_ = Phase::kBegin;
    waiting_ = true;
    return false;
  }
  if ((request_.remote & 7) || request_.length != 8) return refuse(kRemoteInvalidRequest);
  nic_.touch().enter();
  const Region* region =
      wire_->closed() ? nullptr : tcpRegion(*qp_, request_.rkey, request_.remote, 8, kRemoteAtomic);
  uint64_t before = request_.compare;
  if (region) {
    auto* word = reinterpret_cast<uint64_t*>(region->deviceMemory(request_.remote));
    if (request_.opcode == kFetchAndAdd) {
      before = __atomic_fetch_add(word, request_.compare, __ATOMIC_SEQ_CST);
    } else {
      __atomic_compare_exchange_n(word, &before, request_.swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
  }
  nic_.touch().leave();
  if (!region) return refuse(kRemoteAccessError);
  replies_.push_back({sequence_, false, 0, 0, 0, before});
  return finish();
}

// Whether bytes of the current request may still be placed. Within touch(), or to look ahead.
bool TcpResponder::mayPlace() const {
  if (wire_->closed()) return false;
  if (request_.opcode == kWrite || request_.opcode == kWriteWithImm) {
    return tcpPermits(*qp_, request_.rkey, request_.remote, request_.length, kRemoteWrite);
  }
  for (uint32_t i = 0; i < std::min(slot_.sgeCount, kMaxSge); ++i) {
    if (!tcpTakesMessage(*qp_, slot_.sge[i])) return false;
  }
  return true;
}

bool TcpResponder::drainBuffer() {
  if (input_.buffered() == 0) return false;
  nic_.touch().enter();
  const bool allowed = mayPlace();
  if (allowed) input_.drain(sink_);
  nic_.touch().leave();
  if (allowed) return true;
  const bool send = request_.opcode <= kSendWithImm;
  return refuse(send ? kRemoteOperationError : kRemoteAccessError);
}

bool TcpResponder::finish() {
  if (takesReceive(request_.opcode)) produce(kSuccess);
  ++sequence_;
  phase_ = Phase::kHeader;
  return true;
}

void TcpResponder::produce(Status status) {
  InboundCompletion completion{};
  completion.status = status;
  completion.opcode = request_.opcode == kWriteWithImm ? kCompletedReceiveWriteWithImm : kCompletedReceive;
  completion.bytes = request_.length;
  completion.immediate = request_.immediate;
  completion.flags = carriesImmediate(request_.opcode) ? uint32_t(kWithImmediate) : 0;
  nic_.touch().enter();
  if (!wire_->closed()) qp_->produceInbound(completion, request_.flags & kTcpSolicited);
  nic_.touch().leave();
  qp_->received();
}

// Answered after everything before it; then both queue pairs fail.
bool TcpResponder::refuse(Status status, bool completesReceive) {
  if (!wire_->closed()) refusal_ = Refusal{status, completesReceive};
  return false;
}

bool TcpResponder::protocolError() {
  const auto wire = wire_;
  nic_.fail(*wire, kGeneralError);
  return false;
}

}  // namespace rdmc
