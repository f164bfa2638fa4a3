// The reading side of a connection: headers go through a small buffer, payload straight into memory.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/failure.h"

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

// The buffers of the inputs of one NIC, in its thread. An input has one only while bytes wait in it, because most
// connections are idle, and their buffers would be most of their memory.
class TcpInputBuffers {
 public:
  static constexpr size_t kBytes = 8 << 10;
  using Buffer = std::unique_ptr<uint8_t[]>;

  // `give` allocates nothing: it is called where memory is being touched, and by destructors.
  TcpInputBuffers() { free_.reserve(kKept); }
  // nullptr where memory has run out.
  Buffer take() {
    if (free_.empty()) return Buffer(new (std::nothrow) uint8_t[kBytes]);
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void give(Buffer buffer) {
    if (free_.size() < kKept) free_.push_back(std::move(buffer));
  }

 private:
  static constexpr size_t kKept = 16;
  std::vector<Buffer> free_;
};

class TcpInput {
 public:
  explicit TcpInput(TcpInputBuffers& buffers) : buffers_(buffers) {}
  ~TcpInput() { release(); }
  TcpInput(const TcpInput&) = delete;
  TcpInput& operator=(const TcpInput&) = delete;

  size_t buffered() const { return end_ - begin_; }

  // A whole header if one is buffered, else nullptr. Consumes it.
  template <typename Header>
  bool take(Header& header) {
    if (buffered() < sizeof(Header)) return false;
    std::memcpy(&header, &buffer_[begin_], sizeof(Header));
    begin_ += sizeof(Header);
    if (buffered() == 0) release();
    return true;
  }
  // Buffered payload into the sink.
  size_t drain(TcpSink& sink) {
    iovec pieces[TcpSink::kMaxPieces];
    size_t bytes;
    const int count = sink.next(pieces, buffered(), bytes);
    for (int i = 0; i < count; ++i) {
      std::memcpy(pieces[i].iov_base, &buffer_[begin_], pieces[i].iov_len);
      begin_ += pieces[i].iov_len;
    }
    sink.advance(bytes);
    if (buffered() == 0) release();
    return bytes;
  }

  // Reads once. With a sink (nothing buffered then): straight into it, and the next header behind it.
  // `placed`: how much went into the sink; `wanted` less `got`: the socket was emptied.
  TcpMoved fill(int socket, TcpSink* sink, size_t max, size_t& placed, bool& emptied) {
    if (!buffer_) buffer_ = buffers_.take();
    // Payload needs none. Nothing is thrown with a sink, because the caller has announced that it touches memory.
    if (!buffer_ && !sink) throw Failure("ERR_RDMC_OUT_OF_MEMORY", "There is no memory for the input of a connection");
    if (begin_ > 0) {
      std::memmove(&buffer_[0], &buffer_[begin_], buffered());
      end_ -= begin_;
      begin_ = 0;
    }
    iovec pieces[TcpSink::kMaxPieces + 1];
    int count = 0;
    size_t direct = 0, room = buffer_ ? TcpInputBuffers::kBytes - end_ : 0;
    if (sink) {
      count = sink->next(pieces, max, direct);
      // A small part of what follows a long payload, because that is one header and more payload.
      room = direct < sink->remaining() ? 0 : std::min(room, kBehindPayload);
    }
    if (room > 0) pieces[count++] = {buffer_.get() + end_, room};
    size_t got = 0;
    const TcpMoved moved = tcpReceive(socket, pieces, count, got);
    placed = std::min(got, direct);
    if (sink) sink->advance(placed);
    end_ += got - placed;
    emptied = got < direct + room;
    if (buffered() == 0) release();
    return moved;
  }

 private:
  static constexpr size_t kBehindPayload = 256;

  // Nothing is buffered.
  void release() {
    begin_ = end_ = 0;
    if (buffer_) buffers_.give(std::move(buffer_));
  }

  TcpInputBuffers& buffers_;
  TcpInputBuffers::Buffer buffer_;  // nullptr where nothing is buffered
  size_t begin_ = 0, end_ = 0;
};

}  // namespace rdmc
