// How devices of one host meet: sequenced-packet sockets in the abstract Unix name space, which belongs
// to the network namespace, admitted by user id. Everything here runs on the service thread.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "peer_link.h"
#include "soft_device.h"

namespace rdmc {

class ShmTransport {
 public:
  explicit ShmTransport(SoftDevice& device);
  void start();
  void stop();
  static std::string socketName(const DeviceId& id);

  void connect(std::shared_ptr<QueuePair> qp, const QueuePairAddress& remote, const ConnectParameters& parameters,
               ConnectCallback done);
  // A queue pair was destroyed: its page is free once the peer lets go.
  void release(const std::shared_ptr<QueuePair>& qp);
  void arenaGone(uint32_t id);
  // Sends what found no room, gives up on connects that waited too long; milliseconds until it wants to run
  // again, -1 for never.
  int turn();

 private:
  struct Waiting {
    std::shared_ptr<QueuePair> qp;
    QueuePairAddress remote;
    ConnectParameters parameters;
    ConnectCallback done;
    int64_t deadlineNs;
  };
  // An outgoing connection; `link` exists once the peer has said hello.
  struct Outgoing {
    DeviceId peer;
    Fd socket;
    std::shared_ptr<PeerLink> link;
    std::vector<Waiting> waiting;
    std::vector<uint32_t> releasing;  // indices of our destroyed queue pairs
  };
  struct Incoming {
    Fd socket;
    LinkOutbox outbox;
    bool greeted = false;
    std::vector<uint32_t> arenas;  // handed out
  };

  void accept();
  void onIncoming(int fd);
  void serve(Incoming& from, const LinkMessage& message);
  void serveArena(Incoming& from, uint32_t id);
  void serveEvent(Incoming& from, uint32_t queuePair);
  void serveDetach(Incoming& from, const LinkMessage& message);
  Outgoing* dial(const QueuePairAddress& remote, std::string& why);
  void onOutgoing(const DeviceId& peer);
  bool handle(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  bool greet(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  void attach(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  void lose(const DeviceId& peer, const std::string& why);
  void failWaiting(Outgoing& to, const std::string& code, const std::string& why);
  LinkMessage hello() const;
  void sendHello(int socket) const;
  int turnWaiting(int64_t now);
  bool flush();
  void resumeAccepting(int64_t now);

  SoftDevice& device_;
  Fd listener_;
  int64_t acceptAgainNs_ = 0;  // when descriptors had run out; 0: it listens
  std::map<DeviceId, Outgoing> outgoing_;
  std::unordered_map<int, Incoming> incoming_;
};

uint64_t peerToken(const DeviceId& device, uint32_t queuePair);

}  // namespace rdmc
