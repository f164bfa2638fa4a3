// How devices of one host meet: sequenced-packet sockets in the abstract Unix name space, which belongs
// to the network namespace, admitted by user id and by proof of the key. Nearly all of it runs on the service thread.
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
#include "soft/transport.h"

namespace rdmc {

class ShmWire;

class ShmTransport final : public SoftTransport {
 public:
  explicit ShmTransport(SoftDevice& device);
  void start();
  void stop();
  static std::string socketName(const DeviceId& id);

  // Any thread.
  const char* name() const override { return "shm"; }
  bool dataInOrder() const override { return true; }
  void connect(const std::shared_ptr<QueuePair>& qp, const SoftAddress& remote, const ConnectParameters& parameters,
               const ConnectCallback& done) override;
  void release(const std::shared_ptr<QueuePair>& qp) override;

  // The service thread.
  void arenaGone(uint32_t id);
  // Sends what found no room, gives up on connects that waited too long; milliseconds until it wants to run
  // again, -1 for never.
  int turn();

 private:
  struct Waiting {
    std::shared_ptr<QueuePair> qp;
    SoftAddress remote;
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
    int64_t firstBytesNs = 0, greetingNs = 0;          // by when they are due
    std::set<uint32_t> arenas;                         // handed out
    uint64_t link = 0;                                 // names it to channels
    std::vector<std::weak_ptr<SoftChannel>> channels;  // that have a bell for it
  };

  // A queue pair that is connected over shared memory, from then until its page is given back.
  struct Attached {
    uint32_t number;
    std::shared_ptr<ShmWire> wire;
  };

  void startConnect(Waiting waiting);
  void startRelease(const QueuePair& qp);
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
  int bellFor(Incoming& from, const std::shared_ptr<SoftChannel>& channel);
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
  void onEvent(Outgoing& to, const LinkMessage& message, std::vector<Fd>& fds);
  // Throws Failure.
  void attach(const Outgoing& to, const Waiting& waiting, const LinkMessage& message, std::vector<Fd>& fds);
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
  std::unordered_map<uint32_t, Attached> attached_;  // by index of the queue pair
  uint64_t links_ = 0;
  Strangers strangers_;  // by descriptor
};

constexpr int kMessagesAtOnce = 64;  // of one peer, which must not keep the others waiting

uint64_t peerToken(const DeviceId& device, uint32_t queuePair);

}  // namespace rdmc
