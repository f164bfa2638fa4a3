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
  // The queue pair at the other end. `depth`: entries of its receive queue, checked.
  struct Peer {
    std::shared_ptr<PeerLink> link;
    uint32_t number, depth;
  };
  ShmWire(SoftTransport& transport, Peer peer, uint64_t ownToken);
  SoftTransport& transport() const override { return transport_; }
  bool peerAlive() const override { return link_->control().alive(); }
  Progress progress(QueuePair& qp, int64_t& budgetBytes) override;
  int64_t deadline() const override { return deadlineNs_; }
  void receivePosted(QueuePair& qp) override;
  bool quiesce(QueuePair& qp) override;
  void detach(QueuePair& qp) override;
  const std::shared_ptr<PeerLink>& link() const { return link_; }
  uint32_t peerNumber() const { return peerNumber_; }

 private:
  enum class Step { kCopied, kDone, kBlocked, kRetry, kFailed };
  // A region as the target describes it, read once.
  struct RegionFacts {
    uint32_t access, protectionDomain, arena;
    uint64_t address, length;
    bool permits(uint64_t from, uint64_t bytes, uint32_t rights, uint32_t pd) const;
  };
  // Bytes of the target's memory, as a request names them: `length` of the `remaining` that it still has to move.
  struct Range {
    uint32_t key;
    uint64_t address, length, remaining;
    uint32_t access;
  };
  // A checked piece of the target's memory.
  struct Window {
    uint8_t* memory;
    uint32_t regionIndex;
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
  // Access to all that remains is checked.
  Step resolve(QueuePair& qp, const Range& range, Window& window);
  // The next `length` bytes of what a request names.
  Step resolveRemote(QueuePair& qp, const WorkRequest& request, uint64_t length, uint32_t access, Window& window);
  // `length` bytes of an entry of the peer's receive.
  Step resolveReceive(QueuePair& qp, const Sge& entry, uint64_t skip, uint64_t length, Window& window);
  bool stillValid(uint32_t key, const Window& window) const;
  // After a copy: whether it went to memory that the target still uses. If not, the quantum does not count.
  bool landed(uint32_t key, const Window& window) const;
  bool enter(uint32_t regionIndex);
  void leave();
  bool connected() const;
  void publish(const WorkRequest& request, Status status);
  bool expired(int64_t allowedMs);
  bool retriedTooLong(const QueuePair& qp);

  SoftTransport& transport_;
  std::shared_ptr<PeerLink> link_;
  const uint32_t peerNumber_;
  const uint64_t ownToken_;
  SharedQp& theirs_;
  ReceiveSlot* const theirSlots_;
  InboundCompletion* const theirInbound_;
  const uint32_t theirIndex_, theirDepth_, theirCq_, theirDomain_;
  bool detached_ = false;
  bool rnrWaiting_ = false;

  uint64_t done_ = 0;  // bytes of the head request already copied
  uint32_t busyCount_ = 0;
  uint32_t produced_ = 0;
  int64_t waitingSinceNs_ = 0, deadlineNs_ = 0;
  int64_t retryingSinceNs_ = 0;  // 0: the request has made progress since
  Status failure_ = kSuccess;
  bool tellPeer_ = false;

  std::shared_ptr<PeerArena> arena_;  // the one used last
  uint32_t arenaEpoch_ = 0;
};

int64_t steadyNs();

}  // namespace rdmc
