// The writing half of TcpResponder: answers in order, acknowledgements together.
#include <algorithm>

#include "soft/tcp/nic.h"
#include "soft/tcp/region.h"
#include "soft/tcp/responder.h"

namespace rdmc {
namespace {

constexpr size_t kMaxOutBytes = 4096;
const uint8_t kZeros[kTcpTurnBytes] = {};

}  // namespace

void TcpResponder::respond(TcpResponseType type, uint32_t sequence, uint8_t status, uint64_t value) {
  TcpResponse response{};
  response.type = type;
  response.status = status;
  response.sequence = sequence;
  response.value = value;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&response);
  out_.insert(out_.end(), bytes, bytes + sizeof response);
}

// Fills `out_` with what can be sent now, up to one piece of a READ.
void TcpResponder::encode() {
  if (admissionDue_) respond(kTcpAdmitted, 0);
  if (noticeDue_) respond(kTcpNotReady, sequence_);
  admissionDue_ = noticeDue_ = false;
  while (!replies_.empty() && piece_.length == 0 && out_.size() < kMaxOutBytes) encodeReply();
  if (!replies_.empty() || piece_.length > 0) return;
  if (acknowledged_ != sequence_) {
    acknowledged_ = sequence_;
    respond(kTcpAck, sequence_ - 1);
  }
  if (refusal_ && !refusalSaid_) {
    respond(kTcpNak, sequence_, uint8_t(refusal_->status));
    refusalSaid_ = true;
  }
}

void TcpResponder::encodeReply() {
  Reply& reply = replies_.front();
  if (!reply.read) {
    respond(kTcpValue, reply.sequence, 0, reply.value);
    acknowledged_ = reply.sequence + 1;
    replies_.pop_front();
    return;
  }
  piece_ = reply;
  piece_.length = uint32_t(std::min<size_t>(reply.length, kTcpTurnBytes));
  TcpResponse header{};
  header.type = kTcpReadData;
  header.sequence = reply.sequence;
  header.length = piece_.length;
  header.offset = uint32_t(reply.value);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  out_.insert(out_.end(), bytes, bytes + sizeof header);
  reply.remote += piece_.length;
  reply.value += piece_.length;
  reply.length -= piece_.length;
  if (reply.length == 0) replies_.pop_front();
}

bool TcpResponder::flush() {
  while (writable) {
    if (out_.size() == outSent_ && piece_.length == 0) {
      out_.clear();
      outSent_ = 0;
      if (refusalSaid_) return concludeRefusal();
      encode();
      if (out_.empty()) return true;
    }
    // Acknowledgements are paid for, but do not wait: they are small, and the peer's next requests may depend on them.
    if (piece_.length > 0 && !nic_.link().maySend(id, qp_->parameters().weight, tcpNowNs)) return true;
    const TcpMoved moved = sendSome();
    if (moved == TcpMoved::kNothing) writable = false;
    if (moved == TcpMoved::kEnd) {
      readable = hungUp = true;  // a read returns the error
      if (refusal_) return concludeRefusal();
      return true;
    }
    if (pieceLost_ && piece_.length == 0) {
      // Its data was replaced by zeros: the READ must not succeed.
      pieceLost_ = false;
      sequence_ = acknowledged_ = piece_.sequence;
      replies_.clear();
      refusal_ = Refusal{kRemoteAccessError, false};
    }
  }
  return true;
}

TcpMoved TcpResponder::sendSome() {
  iovec pieces[2];
  int count = 0;
  const size_t headers = out_.size() - outSent_;
  const size_t payload = std::min<size_t>(piece_.length, nic_.link().turnBytes()), wanted = headers + payload;
  if (headers > 0) pieces[count++] = {out_.data() + outSent_, headers};
  size_t sent = 0;
  TcpMoved moved;
  if (piece_.length == 0) {
    moved = tcpSend(fd(), pieces, count, sent);
  } else {
    nic_.touch().enter();
    const Region* region = wire_->closed() || pieceLost_ ? nullptr
                                                         : tcpRegion(*qp_, piece_.rkey, piece_.remote, piece_.length,
                                                                     kRemoteRead);
    if (!region) pieceLost_ = true;
    const void* from = region ? region->deviceMemory(piece_.remote) : kZeros;
    pieces[count++] = {const_cast<void*>(from), payload};
    moved = tcpSend(fd(), pieces, count, sent);
    nic_.touch().leave();
  }
  if (moved != TcpMoved::kSome) return moved;
  nic_.link().sent(sent);
  const size_t fromHeaders = std::min(sent, headers);
  outSent_ += fromHeaders;
  piece_.remote += sent - fromHeaders;
  piece_.length -= uint32_t(sent - fromHeaders);
  return sent < wanted ? TcpMoved::kNothing : TcpMoved::kSome;
}

bool TcpResponder::concludeRefusal() {
  if (refusal_->completesReceive) produce(kLocalLengthError);
  const auto wire = wire_;
  nic_.fail(*wire, kFlushed);
  return false;
}

// The peer reads what is left. What it still sends is read and discarded, because closing a socket with unread bytes
// would reset the connection and discard the answers.
bool TcpResponder::lastWords() {
  while (out_.size() > outSent_) {
    iovec piece{out_.data() + outSent_, out_.size() - outSent_};
    size_t sent = 0;
    const TcpMoved moved = tcpSend(fd(), &piece, 1, sent);
    if (moved == TcpMoved::kEnd) {
      nic_.end(*this);
      return false;
    }
    if (moved == TcpMoved::kNothing) return false;
    outSent_ += sent;
  }
  if (!shut_) ::shutdown(fd(), SHUT_WR);
  shut_ = true;
  // Into one small area over and over: the bytes are not used.
  static thread_local uint8_t scrap[64 << 10];
  for (size_t budget = kTcpTurnBytes; budget > 0;) {
    iovec piece{scrap, sizeof scrap};
    size_t got = 0;
    const TcpMoved moved = tcpReceive(fd(), &piece, 1, got);
    if (moved == TcpMoved::kEnd) {
      nic_.end(*this);
      return false;
    }
    if (moved == TcpMoved::kNothing) return false;
    budget -= std::min(budget, got);
  }
  return true;
}

}  // namespace rdmc
