// The connection that carries the peer's requests: it places the data that they bring, and reads the data that they ask
// for.
//
// Requests are carried out strictly in order. One that cannot begin (no receive is posted, too many answers
// wait) stops the reading of this connection and of nothing else.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/fifo.h"
#include "soft/tcp/connection.h"
#include "soft/tcp/input.h"
#include "soft/tcp/wire.h"

namespace rdmc {

class TcpResponder : public TcpConnection {
 public:
  TcpResponder(TcpNic& nic, Fd socket, std::shared_ptr<TcpWire> wire, const TcpHello& hello);
  bool turn() override;
  void expire(int64_t nowNs) override;
  // The queue pair failed: no more access to memory; what was answered is still sent.
  void leave();

 private:
  enum class Phase { kHeader, kBegin, kPayload };
  // An answer that is more than an acknowledgement.
  struct Reply {
    uint32_t sequence;
    bool read;
    uint32_t rkey, length;
    uint64_t remote, value;
  };
  struct Refusal {
    Status status;
    bool completesReceive;
  };

  // Reading.
  bool receive(bool& more);
  bool fill(size_t& budget);
  bool step();
  bool begin();
  bool beginWrite();
  bool beginSend();
  bool beginRead();
  bool atomic();
  bool receiverReady();
  bool drainBuffer();
  bool mayPlace() const;
  bool finish();
  bool refuse(Status status, bool completesReceive = false);
  void produce(Status status);
  bool protocolError();

  // Writing.
  bool flush();
  void encode();
  void encodeReply();
  void respond(TcpResponseType type, uint32_t sequence, uint8_t status = 0, uint64_t value = 0);
  TcpMoved sendSome();
  bool concludeRefusal();
  bool lastWords();

  std::shared_ptr<TcpWire> wire_;  // nullptr: only the remaining answers are sent
  std::shared_ptr<QueuePair> qp_;
  const uint32_t rnrRetries_, rnrTimerMs_;

  TcpInput input_;
  TcpSink sink_;
  TcpRequest request_{};
  ReceiveSlot slot_{};
  Phase phase_ = Phase::kHeader;
  uint32_t sequence_ = 0;      // requests begun and not refused
  uint32_t acknowledged_ = 0;  // of these
  bool waiting_ = false;
  int64_t rnrDeadlineNs_ = 0, rnrNoticeNs_ = 0;

  Fifo<Reply> replies_;
  std::optional<Refusal> refusal_;
  bool refusalSaid_ = false;
  bool admissionDue_ = true, noticeDue_ = false;

  std::vector<uint8_t> out_;  // headers on their way, then a piece of a READ
  size_t outSent_ = 0;
  Reply piece_{};
  bool pieceLost_ = false;  // its memory was revoked: zeros are sent instead
  bool shut_ = false;
};

}  // namespace rdmc
