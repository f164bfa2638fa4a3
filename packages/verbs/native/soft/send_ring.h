// The memory of a send queue: chunks of requests, each allocated with its first request. Most queue pairs of a node with many
// groups have one request under way at a time, and the requests of a deep queue would be most of their memory.
//
//   chunks_   0 ──▶ | request 0 | request 1 |     1 ──▶ nullptr     2 ──▶ nullptr     …
//
// Requests do not move, because the NIC thread sends inline bytes from where they lie, without the queue pair's lock.
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace rdmc {

template <typename Request>
class SendRing {
 public:
  static constexpr uint32_t kChunk = 2;

  explicit SendRing(uint32_t depth) : depth_(depth), chunks_((depth + kChunk - 1) / kChunk) {}
  uint32_t depth() const { return depth_; }

  // The place of a new request, not initialized; nullptr where memory has run out.
  Request* open(uint32_t index) {
    std::unique_ptr<Request[]>& chunk = chunks_[index / kChunk];
    if (!chunk) [[unlikely]] {
      chunk.reset(new (std::nothrow) Request[kChunk]);
      if (!chunk) return nullptr;
    }
    return &chunk[index % kChunk];
  }
  // Of a request that was opened.
  Request& operator[](uint32_t index) { return chunks_[index / kChunk][index % kChunk]; }

 private:
  const uint32_t depth_;
  std::vector<std::unique_ptr<Request[]>> chunks_;
};

}  // namespace rdmc
