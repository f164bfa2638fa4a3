// The reading side of a connection: headers go through a small buffer, payload straight into memory.
#pragma once
#include <algorithm>
#include <cstring>

#include "soft/tcp/socket.h"

namespace rdmc {

// Where payload goes: a few pieces of registered memory, filled from the front.
class TcpSink {
 public:
  static constexpr int kMaxPieces = 4;
  void clear() { count_ = at_ = 0, remaining_ = 0; }
  void add(void* memory, size_t length) {
    if (length == 0) return;
    pieces_[count_++] = {memory, length};
    remaining_ += length;
  }
  // Payload ends after `length` bytes.
  void limit(size_t length) { remaining_ = std::min(remaining_, length); }
  size_t remaining() const { return remaining_; }

  // The next pieces, `max` bytes at most; returns how many.
  int next(iovec* out, size_t max, size_t& bytes) const {
    bytes = 0;
    int used = 0;
    max = std::min(max, remaining_);
    for (int i = at_; i < count_ && bytes < max; ++i) {
      const size_t length = std::min(pieces_[i].iov_len, max - bytes);
      out[used++] = {pieces_[i].iov_base, length};
      bytes += length;
    }
    return used;
  }
  void advance(size_t bytes) {
    remaining_ -= bytes;
    while (bytes > 0) {
      iovec& piece = pieces_[at_];
      const size_t step = std::min(bytes, piece.iov_len);
      piece.iov_base = static_cast<uint8_t*>(piece.iov_base) + step;
      piece.iov_len -= step;
      bytes -= step;
      if (piece.iov_len == 0) ++at_;
    }
  }

 private:
  iovec pieces_[kMaxPieces]{};
  int count_ = 0, at_ = 0;
  size_t remaining_ = 0;
};

class TcpInput {
 public:
  size_t buffered() const { return end_ - begin_; }

  // A whole header if one is buffered, else nullptr. Consumes it.
  template <typename Header>
  bool take(Header& header) {
    if (buffered() < sizeof(Header)) return false;
    std::memcpy(&header, buffer_ + begin_, sizeof(Header));
    begin_ += sizeof(Header);
    return true;
  }
  // Buffered payload into the sink.
  size_t drain(TcpSink& sink) {
    iovec pieces[TcpSink::kMaxPieces];
    size_t bytes;
    const int count = sink.next(pieces, buffered(), bytes);
    for (int i = 0; i < count; ++i) {
      std::memcpy(pieces[i].iov_base, buffer_ + begin_, pieces[i].iov_len);
      begin_ += pieces[i].iov_len;
    }
    sink.advance(bytes);
    return bytes;
  }
  void discard() { begin_ = end_ = 0; }

  // Reads once. With a sink (nothing buffered then): straight into it, and the next header behind it.
  // `placed`: how much went into the sink; `wanted` less `got`: the socket was emptied.
  TcpMoved fill(int socket, TcpSink* sink, size_t max, size_t& placed, bool& emptied) {
    if (begin_ > 0) {
      std::memmove(buffer_, buffer_ + begin_, buffered());
      end_ -= begin_;
      begin_ = 0;
    }
    iovec pieces[TcpSink::kMaxPieces + 1];
    int count = 0;
    size_t direct = 0, room = sizeof buffer_ - end_;
    if (sink) {
      count = sink->next(pieces, max, direct);
      // A small part of what follows a long payload, because that is one header and more payload.
      room = direct < sink->remaining() ? 0 : std::min(room, kBehindPayload);
    }
    if (room > 0) pieces[count++] = {buffer_ + end_, room};
    size_t got = 0;
    const TcpMoved moved = tcpReceive(socket, pieces, count, got);
    placed = std::min(got, direct);
    if (sink) sink->advance(placed);
    end_ += got - placed;
    emptied = got < direct + room;
    return moved;
  }

 private:
  static constexpr size_t kBufferBytes = 8 << 10;
  static constexpr size_t kBehindPayload = 256;
  uint8_t buffer_[kBufferBytes];
  size_t begin_ = 0, end_ = 0;
};

}  // namespace rdmc
