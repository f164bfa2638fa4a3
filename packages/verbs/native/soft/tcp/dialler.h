// Connects one queue pair: finds the address, dials until it is answered or the time is over, greets.
#pragma once
#include <string>
#include <vector>

#include "soft/address.h"
#include "soft/tcp/connection.h"
#include "soft/tcp/greeting.h"
#include "soft/tcp/nic.h"
#include "soft/tcp/socket.h"

namespace rdmc {

class TcpDialler : public TcpConnection {
 public:
  TcpDialler(TcpNic& nic, std::shared_ptr<QueuePair> qp, const SoftAddress& remote, const ConnectParameters& parameters,
             ConnectCallback done);
  void begin();
  bool turn() override;
  void expire(int64_t nowNs) override;
  void failed(const Failure& failure) override { giveUp(failure.code, failure.what()); }
  void resolved(const std::vector<TcpEndpoint>& endpoints, const std::string& why) override;
  void deviceClosed() override { giveUp("ERR_RDMC_DEVICE_CLOSED", "the device was closed meanwhile"); }
  void giveUp(const std::string& code, const std::string& why);

 private:
  enum class Step { kLookUp, kPause, kConnect, kFirstReply, kWelcome };
  void lookUp();
  void attempt();
  void missed(int error);
  bool onConnected();
  bool collectReply();
  bool onReply();
  bool onChallenge();
  bool onRefusal();
  bool succeed();
  bool fail(const std::string& code, const std::string& why);
  bool stillWanted();

  std::shared_ptr<QueuePair> qp_;
  const SoftAddress remote_;
  const ConnectParameters parameters_;
  ConnectCallback done_;
  Step step_ = Step::kLookUp;
  std::vector<TcpEndpoint> endpoints_;
  size_t next_ = 0;
  int lastError_ = 0;
  int64_t pauseMs_ = 10, giveUpNs_ = 0;
  TcpHello hello_{};
  TcpReply reply_{};
  size_t have_ = 0;
  uint8_t nonce_[kTcpNonceBytes]{};
};

}  // namespace rdmc
