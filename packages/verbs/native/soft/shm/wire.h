// Shared-memory wire: the initiator's thread copies straight between its own and the target's memory;
// the target's processor does nothing. See soft/control_segment.h for what is shared.
//
// Copying is done in quanta. Around each, the initiator makes `busy` odd in the target's page, and then checks whether
// the target still allows it; a target that revokes first changes shared memory and then waits for `busy` to be even or
// to change (or replaces the memory under an initiator that is stopped).
#pragma once
#include <memory>

#include "soft/queue_pair.h"
#include "soft/shm/peer_link.h"

namespace rdmc {

class ShmWire : public Wire {
 public:
  // The queue pair at the other end. `ring`: entries of its rings of receives, checked.
  struct Peer {
    std::shared_ptr<PeerLink> link;
    uint32_t number, ring;
    bool ownDevice;
  };
  ShmWire(SoftTransport& transport, Peer peer, uint64_t ownToken, uint32_t retryTimeoutMs);
  SoftTransport& transport() const override { return transport_; }
  bool peerAlive() const override { return link_->control().alive(); }
  Progress progress(QueuePair& qp, int64_t& budgetBytes) override;
  int64_t deadline() const override { return deadlineNs_; }
  void receivePosted(QueuePair& qp) override;
  void resume(QueuePair& qp) override;
  uint32_t localPeer() const override { return ownDevice_ ? peerNumber_ : 0; }
  bool quiesce(QueuePair& qp) override;
  void detach(QueuePair& qp) override;
  const std::shared_ptr<PeerLink>& link() const { return link_; }
  uint32_t peerNumber() const { return peerNumber_; }

 private:
  friend struct ReceiveCounters;  // of a test: begins them elsewhere
  enum class Step { kCopied, kDone, kBlocked, kRetry, kFailed };
  // What a request waits for.
  enum class Missing { kNothing, kConnection, kReceive, kMemory };
  // A region as the target describes it, read once.
  struct RegionFacts {
    uint32_t access, protectionDomain, arena;
    uint64_t address, length;
    bool permits(uint64_t from, uint64_t bytes, uint32_t rights, uint32_t pd) const;
  };
  // A checked piece of the target's memory.
  struct Window {
    uint8_t* memory;
    uint32_t regionIndex, rights;
  };

  Step step(QueuePair& qp, WorkRequest& request);
  Step stepWrite(QueuePair& qp, WorkRequest& request);
  Step stepRead(QueuePair& qp, WorkRequest& request);
  Step stepAtomic(QueuePair& qp, WorkRequest& request);
  Step stepSend(QueuePair& qp, WorkRequest& request);
  Step receiverNotReady(QueuePair& qp);
  Step peerNotConnected(QueuePair& qp);
  Step fail(Status status, bool tellPeer);
  // False: no region has the key.
  bool lookUp(uint32_t key, RegionFacts& facts) const;
  // Sets `window_` to `length` bytes of the target's memory; access to the `remaining` bytes of the request is checked.
  Step resolve(uint32_t key, uint64_t address, uint64_t length, uint64_t remaining, uint32_t access);
  bool stillValid(uint32_t key) const;
  // After a copy: whether it went to memory that the target still uses. If not, the quantum does not count.
  bool landed(uint32_t key) const;
  bool enter(uint32_t regionIndex);
  void leave();
  bool connected() const;
  void publish(const WorkRequest& request, Status status);
  void wakeOwner(uint64_t wakeAt, Status status);
  void miss(Missing what);
  // Whether what is missing has been missing for so long.
  bool expired(int64_t allowedMs);
  bool retriedTooLong(const QueuePair& qp);

  SoftTransport& transport_;
  std::shared_ptr<PeerLink> link_;
  const uint32_t peerNumber_;
  const bool ownDevice_;
  const uint64_t ownToken_;
  const uint32_t retryTimeoutMs_;
  SharedQp& theirs_;
  ReceiveSlot* const theirSlots_;
  InboundCompletion* const theirInbound_;
  const uint32_t theirIndex_, theirRing_, theirCq_, theirDomain_;
  bool detached_ = false;
  bool rnrWaiting_ = false;

  uint64_t done_ = 0;  // bytes of the head request already copied
  uint32_t busyCount_ = 0;
  uint32_t produced_ = 0;
  uint64_t wokenAt_ = 0;  // the target's `wakeAt` at which it was woken last
  Missing missing_ = Missing::kNothing;
  int64_t missingSinceNs_ = 0, deadlineNs_ = 0;
  int64_t retryingSinceNs_ = 0;  // 0: the request has made progress since
  Status failure_ = kSuccess;
  bool tellPeer_ = false;

  Window window_{nullptr, 0, 0};
  std::shared_ptr<PeerArena> arena_;  // the one used last
  uint32_t arenaEpoch_ = 0;
};

int64_t steadyNs();

}  // namespace rdmc
