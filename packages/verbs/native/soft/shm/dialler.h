// The side that dials: asks devices of this host for their control segments, their memory, and how to wake them, and
// connects queue pairs to theirs. All of it runs on the service thread.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "soft/address.h"
#include "soft/device.h"
#include "soft/shm/greeting.h"
#include "soft/shm/peer_link.h"
#include "soft/shm/wires.h"
#include "soft/transport.h"

namespace rdmc {

class ShmDialler {
 public:
  // A queue pair that is to be connected.
  struct Waiting {
    std::shared_ptr<QueuePair> qp;
    SoftAddress remote;
    ConnectParameters parameters;
    ConnectCallback done;
    int64_t deadlineNs;
  };
  ShmDialler(SoftTransport& transport, SoftDevice& device, ShmWires& wires)
      : transport_(transport), device_(device), wires_(wires) {}
  void connect(Waiting waiting);
  // A queue pair was destroyed: its page is free once the peer does not use it any more.
  void release(const QueuePair& qp);
  void stop();
  // Sends what found no room, gives up on connects that waited too long; milliseconds until it wants to run again, -1
  // for never.
  int turn();

 private:
  // An outgoing connection; `link` exists once the peer has said hello. Without a socket it is dialled again: the
  // peer's backlog was full, or the peer had more strangers than it keeps.
  struct Outgoing {
    DeviceId peer;
    Fd socket;
    ShmGreeting greeting;
    bool proved = false;      // we have answered the peer's challenge
    int64_t dialAgainNs = 0;  // without a socket: not before this
    std::shared_ptr<PeerLink> link;
    std::vector<Waiting> waiting;
    std::vector<uint32_t> releasing;  // indices of our destroyed queue pairs
  };
  Outgoing* dial(const DeviceId& peer, std::string& why);
  // Connects and says hello. False with `why` when that cannot succeed.
  bool open(Outgoing& to, std::string& why);
  int redial(int64_t now);
  void onOutgoing(const DeviceId& peer);
  bool handle(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  bool onChallenge(Outgoing& to, const LinkMessage& message);
  bool greet(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  void onRefused(Outgoing& to, const LinkMessage& message);
  bool onArena(Outgoing& to, const LinkMessage& message, const std::vector<Fd>& fds);
  void onEvent(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  // Throws Failure.
  void attach(const Outgoing& to, const Waiting& waiting, const LinkMessage& message, std::vector<Fd>& fds);
  void lose(const DeviceId& peer, const std::string& why);
  void failWaiting(Outgoing& to, const std::string& code, const std::string& why);
  int turnWaiting(int64_t now);
  bool flush();
  const std::vector<uint8_t>& key() const { return device_.options().key; }

  SoftTransport& transport_;
  SoftDevice& device_;
  ShmWires& wires_;
  std::map<DeviceId, Outgoing> outgoing_;
};

}  // namespace rdmc
