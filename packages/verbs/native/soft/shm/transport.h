// How devices of one host meet: sequenced-packet sockets in the abstract Unix name space, which belongs
// to the network namespace, admitted by user id and by proof of the key. Everything here runs on the service thread.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "soft/device.h"
#include "soft/shm/greeting.h"
#include "soft/shm/peer_link.h"
#include "soft/strangers.h"

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
  struct Incoming {
    enum class Stage { kHello, kProof, kAdmitted };
    Fd socket;
    LinkOutbox outbox;
    Stage stage = Stage::kHello;
    bool paused = false;  // not read, because it does not read our answers
    ShmGreeting greeting;
    int64_t firstBytesNs = 0, greetingNs = 0;                // by when they are due
    std::set<uint32_t> arenas;                               // handed out
    uint64_t link = 0;                                       // names it to channels
    std::vector<std::weak_ptr<CompletionChannel>> channels;  // that have a bell for it
  };

  void accept();
  void welcome(Fd socket);
  void drop(int fd);
  void onIncoming(int fd, uint32_t events);
  // False: the connection ends.
  bool greetBack(Incoming& from, const LinkMessage& message);
  bool onHello(Incoming& from, const LinkMessage& message);
  bool onProof(Incoming& from, const LinkMessage& message);
  bool admit(Incoming& from);
  static bool refuse(Incoming& from, LinkRefusalReason reason);
  int turnStrangers(int64_t now);
  void serve(Incoming& from, const LinkMessage& message);
  void serveArena(Incoming& from, uint32_t id);
  void serveEvent(Incoming& from, uint32_t queuePair);
  int bellFor(Incoming& from, const std::shared_ptr<CompletionChannel>& channel);
  void serveDetach(Incoming& from, const LinkMessage& message);
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
  void attach(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  void lose(const DeviceId& peer, const std::string& why);
  void failWaiting(Outgoing& to, const std::string& code, const std::string& why);
  LinkMessage hello() const;
  const std::vector<uint8_t>& key() const { return device_.options().key; }
  int turnWaiting(int64_t now);
  bool flush();
  void endUnread(const std::vector<DeviceId>& outgoing, const std::vector<int>& incoming);

  SoftDevice& device_;
  Fd listener_;
  int64_t acceptAgainNs_ = 0;  // when descriptors had run out; 0: it listens
  std::map<DeviceId, Outgoing> outgoing_;
  std::unordered_map<int, Incoming> incoming_;
  uint64_t links_ = 0;
  Strangers strangers_;  // by descriptor
};

constexpr int kMessagesAtOnce = 64;  // of one peer, which must not keep the others waiting

uint64_t peerToken(const DeviceId& device, uint32_t queuePair);

}  // namespace rdmc
