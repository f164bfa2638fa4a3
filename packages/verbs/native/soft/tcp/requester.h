// The connection that carries a queue pair's own requests, and their answers back.
#pragma once
#include "soft/tcp/connection.h"
#include "soft/tcp/input.h"
#include "soft/tcp/wire.h"

namespace rdmc {

class TcpRequester : public TcpConnection {
 public:
  TcpRequester(TcpNic& nic, Fd socket, std::shared_ptr<TcpWire> wire, uint32_t retryTimeoutMs);
  bool turn() override;
  void expire(int64_t nowNs) override;
  // The queue pair failed: ends at once.
  void leave();
  // The peer sends no more requests, and all that it sent is placed: it is closing. Its earlier answers are still read.
  void peerLeft();

 private:
  bool receive(bool& more);
  bool fill(size_t& budget);
  bool answersEnded();
  bool handle(const TcpResponse& response);
  bool apply(const TcpResponse& response);
  bool send(bool& more);
  bool breakOff(Status status);
  void awaitAdmission();
  void receiverNotReady();
  void receiverReady();
  void updateDeadline();

  const std::shared_ptr<TcpWire> wire_;
  const std::shared_ptr<QueuePair> qp_;
  const uint32_t retryTimeoutMs_;
  TcpInput input_;
  TcpSink sink_;
  bool answersDone_ = false;                                // no more answers
  int64_t admissionNs_ = 0, leaveNs_ = 0, notReadyNs_ = 0;  // deadlines
};

}  // namespace rdmc
