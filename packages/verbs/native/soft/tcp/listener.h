// The side that listens: it accepts and greets connections, and parks those whose queue pair here is not connected yet.
#pragma once
#include "soft/tcp/connection.h"
#include "soft/tcp/greeting.h"
#include "soft/tcp/nic.h"

namespace rdmc {

class TcpListener : public TcpConnection {
 public:
  using TcpConnection::TcpConnection;
  bool turn() override;
  void expire(int64_t) override { nic_.enqueue(*this); }
};

// A connection that has not proved yet who it is.
class TcpGreeter : public TcpConnection {
 public:
  TcpGreeter(TcpNic& nic, Fd socket);
  ~TcpGreeter() override;
  bool turn() override;
  void failed(const Failure&) override { nic_.end(*this); }
  void expire(int64_t nowNs) override;

 private:
  enum class Step { kHello, kProof, kRefused };
  bool collect(size_t wanted);
  bool onHello();
  bool onProof();
  bool welcome();
  bool refuse(TcpRefusalReason reason);
  bool say(TcpReplyKind kind, TcpRefusalReason reason, const uint8_t* bytes);
  TcpRefusalReason admission() const;
  bool discard();

  Step step_ = Step::kHello;
  uint8_t buffer_[sizeof(TcpHello)]{};
  size_t have_ = 0;
  int64_t greetingNs_;  // by when the greeting must have ended
  bool silent_ = true;
  TcpHello hello_{};
  uint8_t nonce_[kTcpNonceBytes]{};
  bool admittedByKey_ = false;
};

// Greeted; the queue pair here is not connected yet.
class TcpParked : public TcpConnection {
 public:
  TcpParked(TcpNic& nic, Fd socket, const TcpHello& hello);
  ~TcpParked() override;
  bool turn() override;
  void expire(int64_t nowNs) override;
  const TcpHello& hello() const { return hello_; }
  // It becomes the connection that carries the peer's requests.
  void resume(const std::shared_ptr<TcpWire>& wire);

 private:
  const TcpHello hello_;
};

bool tcpIsFrom(const TcpHello& hello, const TcpWire& wire);
// The queue pair here is connected now: the connection of its peer continues, others that wait for it are refused.
void tcpResumeParked(TcpNic& nic, const std::shared_ptr<TcpWire>& wire);

}  // namespace rdmc
