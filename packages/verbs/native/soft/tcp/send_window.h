// Which of a queue pair's requests went to the socket and which are answered. Guarded by sendLock.
//
//   head of the send queue            next_                      tail
//   | sent, not acknowledged ........ | partly sent (offset_) .. | not begun
//   done_ is the sequence of the head.
#pragma once
#include <sys/uio.h>

#include "soft/queue_pair.h"
#include "soft/tcp/frame.h"
#include "soft/tcp/input.h"

namespace rdmc {

class TcpSendWindow {
 public:
  // What one system call sends: headers here, payload where it lies.
  struct Batch {
    static constexpr uint32_t kFrames = 64;
    TcpRequest headers[kFrames];
    iovec pieces[kFrames * (1 + kMaxSge)];
    uint64_t frameBytes[kFrames];  // of the frame, from where this batch begins
    bool answered[kFrames];        // a READ or an atomic
    bool torn = false;             // the last frame ends where its WRITE is torn
    uint32_t frames = 0;
    int count = 0;
    size_t bytes = 0;
  };

  void gather(QueuePair& qp, Batch& batch, size_t maxBytes) const;
  void advance(const Batch& batch, size_t sent);

  // All of these return false when the answer fits no request that is under way.
  bool acknowledge(QueuePair& qp, uint32_t through);
  bool refuse(QueuePair& qp, uint32_t sequence, Status status);
  bool value(QueuePair& qp, uint32_t sequence, uint64_t before);
  // Where a piece of a READ goes.
  bool readData(QueuePair& qp, const TcpResponse& piece, TcpSink& sink);

  bool tornSent = false;  // all that the peer gets of a torn WRITE was sent
  bool admitted = false;  // the peer takes requests
  bool sending = false;   // the NIC is in a system call with a batch
  bool full = false;      // the socket is full until epoll reports that it is writable
  int socket = -1;

 private:
  bool completeBefore(QueuePair& qp, uint32_t sequence);

  uint32_t done_ = 0, next_ = 0;
  uint64_t offset_ = 0;
  uint32_t unanswered_ = 0;
  uint64_t readBytes_ = 0;  // received of the READ at the head
};

}  // namespace rdmc
