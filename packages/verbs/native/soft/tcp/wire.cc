#include "soft/tcp/wire.h"

#include "soft/device.h"
#include "soft/tcp/nic.h"
#include "soft/tcp/socket.h"

namespace rdmc {

SoftTransport& TcpWire::transport() const { return nic_.transport(); }

Progress TcpWire::progress(QueuePair& pair, int64_t&) {
  if (closed()) return Progress::kIdle;
  if (window.sending || window.full) return Progress::kElsewhere;  // the NIC comes back to it
  // The link belongs to the NIC thread.
  if (!window.admitted || nic_.link().shaped()) return Progress::kForNic;
  // Waking the NIC takes longer than sending a little. Nobody changes the socket under sendLock.
  TcpSendWindow::Batch batch;
  window.gather(pair, batch, kTcpDirectBytes);
  if (batch.bytes == 0) return Progress::kElsewhere;
  if (batch.bytes < kTcpDirectBytes && batch.frames < TcpSendWindow::Batch::kFrames) {
    size_t sent = 0;
    const TcpMoved moved = tcpSend(window.socket, batch.pieces, batch.count, sent);
    if (moved == TcpMoved::kSome) window.advance(batch, sent);
    // epoll reports a broken socket to the NIC, and a full one that has room again.
    window.full = moved != TcpMoved::kSome || sent < batch.bytes;
    if (window.tornSent) {
      pair.device().tear().strike(window.socket);
      pair.failLocked(kGeneralError);
      return Progress::kIdle;
    }
    return Progress::kElsewhere;
  }
  return Progress::kForNic;
}

void TcpWire::receivePosted(QueuePair&) {
  if (rnrWaiting.load(std::memory_order_seq_cst)) nic_.mark(shared_from_this());
}

void TcpWire::resume(QueuePair&) { nic_.mark(shared_from_this()); }

uint32_t TcpWire::localPeer() const { return peerDevice == nic_.device().id() ? peerNumber : 0; }

bool TcpWire::quiesce(QueuePair&) {
  closed_.store(true, std::memory_order_seq_cst);
  nic_.touch().wait();
  nic_.mark(shared_from_this());
  return true;
}

}  // namespace rdmc
