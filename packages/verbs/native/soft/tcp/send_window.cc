#include "soft/tcp/send_window.h"

#include <algorithm>
#include <cstring>

#include "core/scatter_gather.h"
#include "soft/device.h"

namespace rdmc {
namespace {

bool isAnswered(uint32_t opcode) { return opcode == kRead || isAtomic(opcode); }

void encode(const WorkRequest& request, uint32_t sequence, TcpRequest& header) {
  header = {};
  header.opcode = uint8_t(request.opcode);
  header.flags = request.flags & kSolicited ? kTcpSolicited : 0;
  header.sequence = sequence;
  header.length = uint32_t(request.length);
  header.rkey = request.rkey;
  header.remote = request.remote;
  header.immediate = request.immediate;
  header.compare = request.compare;
  header.swap = request.swap;
}

// Appends the pieces of the frame with the header `at` from `skip` on, `room` bytes at most; returns how many bytes.
size_t appendFrame(WorkRequest& request, uint64_t skip, size_t room, TcpSendWindow::Batch& batch, uint32_t at) {
  const TcpRequest& header = batch.headers[at];
  size_t bytes = 0;
  if (request.torn) room = std::min<uint64_t>(room, sizeof header + request.placed - skip);
  const auto append = [&](const void* memory, uint64_t length) {
    const uint64_t skipped = std::min(skip, length);
    skip -= skipped;
    const size_t taken = std::min<uint64_t>(length - skipped, room - bytes);
    if (taken == 0) return;
    batch.pieces[batch.count++] = {const_cast<uint8_t*>(static_cast<const uint8_t*>(memory)) + skipped, taken};
    bytes += taken;
  };
  append(&header, sizeof header);
  if (isAnswered(request.opcode)) return bytes;
  if (request.flags & kInline) {
    append(request.inlineBytes, request.length);
  } else {
    for (uint32_t i = 0; i < request.sgeCount; ++i) {
      append(reinterpret_cast<const void*>(request.sge[i].address), request.sge[i].length);
    }
  }
  return bytes;
}

}  // namespace

void TcpSendWindow::gather(QueuePair& qp, Batch& batch, size_t maxBytes) const {
  batch.frames = 0;
  batch.count = 0;
  batch.bytes = 0;
  batch.torn = false;
  if (tornSent) return;
  uint32_t unanswered = unanswered_;
  uint64_t skip = offset_;
  while (batch.frames < Batch::kFrames && batch.bytes < maxBytes) {
    const uint32_t sequence = next_ + batch.frames;
    WorkRequest* request = qp.at(sequence - done_);
    if (!request) return;
    if ((request->flags & kWaitFor) && !qp.released(*request)) [[unlikely]]
      return;
    const bool answered = isAnswered(request->opcode);
    if (skip == 0) {
      if ((request->flags & kFence) && unanswered > 0) return;
      if (answered && unanswered == kTcpMaxUnanswered) return;
      unanswered += answered;
    }
    const uint32_t at = batch.frames++;
    encode(*request, sequence, batch.headers[at]);
    batch.answered[at] = answered;
    batch.frameBytes[at] = sizeof(TcpRequest) + (answered ? 0 : request->length) - skip;
    batch.bytes += appendFrame(*request, skip, maxBytes - batch.bytes, batch, at);
    if (request->torn) {
      batch.frameBytes[at] = sizeof(TcpRequest) + request->placed - skip;
      batch.torn = true;
      return;
    }
    skip = 0;
  }
}

void TcpSendWindow::advance(const Batch& batch, size_t sent) {
  for (uint32_t i = 0; i < batch.frames && sent > 0; ++i) {
    if (offset_ == 0) unanswered_ += batch.answered[i];
    if (sent < batch.frameBytes[i]) {
      offset_ += sent;
      return;
    }
    if (batch.torn && i + 1 == batch.frames) {
      tornSent = true;
      return;
    }
    sent -= batch.frameBytes[i];
    offset_ = 0;
    ++next_;
  }
}

bool TcpSendWindow::completeBefore(QueuePair& qp, uint32_t sequence) {
  // Only what was sent completely can be done.
  if (sequence - done_ > next_ - done_) return false;
  for (; done_ != sequence; ++done_) {
    WorkRequest* request = qp.head();
    if (!request || isAtomic(request->opcode)) return false;
    if (request->opcode == kRead) {
      if (readBytes_ != request->length) return false;
      readBytes_ = 0;
      --unanswered_;
    }
    qp.device().countCopied(request->length);
    qp.completeHead(kSuccess, request->length);
  }
  return true;
}

bool TcpSendWindow::acknowledge(QueuePair& qp, uint32_t through) { return completeBefore(qp, through + 1); }

bool TcpSendWindow::refuse(QueuePair& qp, uint32_t sequence, Status status) {
  if (!completeBefore(qp, sequence) || !qp.head()) return false;
  qp.failLocked(status);
  return true;
}

bool TcpSendWindow::value(QueuePair& qp, uint32_t sequence, uint64_t before) {
  if (!completeBefore(qp, sequence)) return false;
  WorkRequest* request = sequence == next_ ? nullptr : qp.head();
  if (!request || !isAtomic(request->opcode)) return false;
  const auto* from = reinterpret_cast<const uint8_t*>(&before);
  for (uint32_t i = 0; i < request->sgeCount; ++i) {
    std::memcpy(reinterpret_cast<void*>(request->sge[i].address), from, request->sge[i].length);
    from += request->sge[i].length;
  }
  ++done_;
  --unanswered_;
  qp.completeHead(kSuccess, 8);
  return true;
}

bool TcpSendWindow::readData(QueuePair& qp, const TcpResponse& piece, TcpSink& sink) {
  if (!completeBefore(qp, piece.sequence)) return false;
  WorkRequest* request = piece.sequence == next_ ? nullptr : qp.head();
  if (!request || request->opcode != kRead || piece.offset != readBytes_) return false;
  if (piece.length == 0 || piece.length > request->length - readBytes_) return false;
  sink.clear();
  uint64_t skip = readBytes_;
  for (uint32_t i = 0; i < request->sgeCount; ++i) {
    const LocalSge& sge = request->sge[i];
    const uint64_t skipped = std::min<uint64_t>(skip, sge.length);
    skip -= skipped;
    sink.add(reinterpret_cast<void*>(sge.address + skipped), sge.length - skipped);
  }
  sink.limit(piece.length);
  readBytes_ += piece.length;
  return true;
}

}  // namespace rdmc
