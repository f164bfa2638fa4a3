// The side that listens: admits the devices of this host by user id and by proof of the key, and hands them the control
// segment, memory, and bells. All of it runs on the service thread.
#pragma once
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "soft/device.h"
#include "soft/shm/greeting.h"
#include "soft/shm/link_outbox.h"
#include "soft/shm/wires.h"
#include "soft/strangers.h"

namespace rdmc {

class ShmListener {
 public:
  ShmListener(SoftDevice& device, const ShmWires& wires);
  void start();
  void stop();
  void arenaGone(uint32_t id);
  // Sends what found no room; milliseconds until it wants to run again, -1 for never.
  int turn();

 private:
  struct Incoming {
    enum class Stage { kHello, kProof, kAdmitted };
    Fd socket;
    LinkOutbox outbox;
    Stage stage = Stage::kHello;
    DeviceId device{};    // that says hello
    bool paused = false;  // not read, because it does not read our answers
    ShmGreeting greeting;
    int64_t firstBytesNs = 0, greetingNs = 0;          // by when they are due
    std::set<uint32_t> arenas;                         // handed out
    uint64_t link = 0;                                 // names it to channels
    std::vector<std::weak_ptr<SoftChannel>> channels;  // that have a bell for it
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
  int bellFor(Incoming& from, const std::shared_ptr<SoftChannel>& channel);
  void serveDetach(Incoming& from, const LinkMessage& message);
  bool flush();
  const std::vector<uint8_t>& key() const { return device_.options().key; }

  SoftDevice& device_;
  const ShmWires& wires_;
  Fd listener_;
  int64_t acceptAgainNs_ = 0;  // after descriptors had run out; 0: it listens
  std::unordered_map<int, Incoming> incoming_;
  uint64_t links_ = 0;
  Strangers strangers_;  // by descriptor
};

}  // namespace rdmc
