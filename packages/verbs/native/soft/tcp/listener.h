// The side that listens: accepts, greets, and parks who comes before the queue pair it wants is connected.
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

// Greeted; our own queue pair is not connected to anybody yet.
class TcpParked : public TcpConnection {
 public:
  TcpParked(TcpNic& nic, Fd socket, const TcpHello& hello);
  ~TcpParked() override;
  bool turn() override;
  void expire(int64_t nowNs) override;
  const TcpHello& hello() const { return hello_; }
  // Goes on as what carries the peer's requests.
  void resume(const std::shared_ptr<TcpWire>& wire);

 private:
  const TcpHello hello_;
};

bool tcpIsFrom(const TcpHello& hello, const TcpWire& wire);
// Our queue pair is connected now: its peer goes on, others that wait for it are sent away.
void tcpResumeParked(TcpNic& nic, const std::shared_ptr<TcpWire>& wire);

}  // namespace rdmc
