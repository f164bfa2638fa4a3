// An RDMA device through libibverbs, as the rest of the addon sees any device.
//
// Keys: what JavaScript knows as an lkey is a slot of the region table; the hardware's lkey is looked up at
// posting, where bounds and rights are checked anyway, so a slip is refused with its name instead of breaking the
// queue pair. Remote keys go over the wire and are the hardware's own. A region that peers may reach is registered
// twice, for local use and for remote use: taking the second registration away revokes the peers' access for good
// and leaves requests of our own, posted ones included, alone. (Changed access flags alone are not trusted to.)
//
// Threads: `events_` reads asynchronous events and watches whether the device is still there; `workers_` make the
// state changes that may block. Everything else runs in the caller's thread.
//
// Locks, in this order: gate_ (the hardware goes away), QueuePair::control, QueuePair::breaking, registrations_,
// QueuePair::posting, IbvCompletionQueue::lock, objects_, tableLock_. portLock_ stands alone.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/arena_pool.h"
#include "core/device.h"
#include "core/work_pool.h"
#include "ibv/queue_pair.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

struct IbvOptions {
  std::string library, device;
  uint32_t port = 1;
  uint32_t gidIndex = 0;
  uint32_t pathMtuBytes = 0;  // 0: as large as both ports carry
};

struct IbvLimits {
  uint32_t maxQueuePairs, maxCompletionQueues, maxCompletionQueueDepth, maxSendDepth, maxReceiveDepth;
  uint32_t maxSge, maxInlineBytes, maxRegions, maxSharedReceiveDepth;
  uint64_t maxMessageBytes;
  bool atomics;
  bool ordersWrites;  // ibv_query_qp_data_in_order of WRITEs
};

struct IbvCounters {
  std::atomic<uint64_t> requests{0}, doorbells{0}, completions{0};
};

// What the port is at the moment; events change it.
struct IbvPort {
  ibv_port_attr attributes{};
  std::array<uint8_t, 16> gid{};
  std::string gidType;  // as in SurveyedGid
};

class IbvDevice final : public Device, public std::enable_shared_from_this<IbvDevice> {
 public:
  explicit IbvDevice(IbvOptions options);
  ~IbvDevice() override;
  void close() override;
  DeviceDescription describe() const override;
  NamedNumbers counterValues() override;

  RegionTable& regions() override { return regions_; }
  uint32_t createProtectionDomain() override;
  void destroyProtectionDomain(uint32_t index) override;
  uint32_t allocateRegion(uint32_t pd, uint64_t length, uint32_t access) override;
  uint32_t registerRegion(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) override;
  uint32_t registerDmabuf(uint32_t pd, int fd, uint64_t offset, uint64_t length, uint32_t access) override;
  uint32_t remoteKey(uint32_t region) override;
  bool remotelyReachable(uint32_t region) override;
  void revokeRegion(uint32_t handle) override;
  void closeRegion(uint32_t handle) override;

  int createChannel() override;
  std::shared_ptr<Channel> channel(int id) override { return ibvChannel(id); }
  void destroyChannel(int id) override;
  uint32_t createCompletionQueue(uint32_t depth, int channel) override;
  std::shared_ptr<CompletionQueue> completionQueue(uint32_t index) override { return cqAt(index); }
  void destroyCompletionQueue(uint32_t index) override;
  uint32_t poll(CompletionQueue& queue, CompletionSlot* out, uint32_t max) override {
    return static_cast<IbvCompletionQueue&>(queue).poll(out, max);
  }

  uint32_t createSharedReceiveQueue(uint32_t pd, uint32_t depth) override;
  void destroySharedReceiveQueue(uint32_t number) override;
  uint32_t createQueuePair(const QueuePairParameters& parameters) override;
  AddressFields addressOf(uint32_t number) override;
  void connect(uint32_t number, const AddressFields& remote, const ConnectParameters& parameters,
               ConnectCallback done) override;
  QpState stateOf(uint32_t number) override;
  std::string transportOf(uint32_t number) override;
  NamedNumbers attributesOf(uint32_t number) override;
  bool dataInOrder(uint32_t number) override;
  void failQueuePair(uint32_t number) override;
  void destroyQueuePair(uint32_t number) override;
  uint32_t post(WorkRequestSlot* slots, uint32_t count) override;

  // For its completion queues.
  const IbvLibrary& library() const { return *library_; }
  ibv_context* context() const { return context_; }
  const IbvLimits& limits() const { return limits_; }
  const std::string& name() const { return options_.device; }
  // Turns hardware completions into ours; returns how many there are. With the queue's lock held.
  uint32_t translate(IbvCompletionQueue& cq, const ibv_wc* from, uint32_t count, CompletionSlot* out);
  // Has the device look once more at what was posted to a broken queue pair: some do so only when told.
  void kick(IbvQueuePair& qp);
  // rdma_rxe raises no event for a failed send where only solicited completions are waited for.
  bool hidesFailedSends() const { return isSoftRoce(); }
  // The error for a refused call; a removed device is recognised.
  Failure refusal(const char* call, const std::string& what, int error) const;

 private:
  struct RegionKeys {
    ibv_mr* local = nullptr;
    ibv_mr* remote = nullptr;
    uint32_t localKey = 0, remoteKey = 0;
  };
  struct RemoteEnd;

  // Opening and limits (ibv/open.cc).
  void openContext();
  void readLimits();
  void readPort();
  void checkPort(const IbvPort& found) const;
  IbvPort queryPort() const;
  IbvPort port() const;
  void refreshPort();
  bool isSoftRoce() const;
  void probeQueues();

  // Regions (ibv/regions.cc).
  ibv_pd* pd(uint32_t index);
  ibv_mr* registerMemory(ibv_pd* pd, void* address, uint64_t length, uint32_t access);
  void registerKeys(uint32_t region, uint32_t pd, uint64_t length, uint32_t access);
  void registerOrRemove(uint32_t region, uint32_t pd, uint64_t length, uint32_t access);
  RegionKeys& keysOf(uint32_t region) { return keys_[RegionTable::indexOf(region)]; }
  void giveKeysBack(uint32_t index);
  void deregister(ibv_mr*& mr, uint32_t pd);
  Failure registrationFailure(uint64_t length, uint32_t times, int error) const;

  // Queue pairs (ibv/device.cc, ibv/connect.cc, ibv/posting.cc).
  std::shared_ptr<IbvChannel> ibvChannel(int id);
  std::shared_ptr<IbvChannel> channelHere(int id);  // with objects_ held
  std::shared_ptr<IbvCompletionQueue> cqAt(uint32_t index);
  std::shared_ptr<IbvCompletionQueue> queueHere(uint32_t index);        // with objects_ held
  std::shared_ptr<IbvQueuePair> qp(uint32_t number);                    // nullptr when there is none
  std::shared_ptr<IbvQueuePair> qpAt(uint32_t number);                  // throws ERR_RDMC_QUEUE_PAIR_CLOSED
  std::shared_ptr<IbvSharedReceiveQueue> findShared(uint32_t number);   // nullptr when there is none
  std::shared_ptr<IbvSharedReceiveQueue> sharedQueue(uint32_t number);  // throws ERR_RDMC_QUEUE_PAIR_CLOSED
  std::shared_ptr<IbvSharedReceiveQueue> sharedHere(uint32_t number);   // with objects_ held
  uint32_t takeNumber();
  void giveNumberBack(uint32_t number);
  void takeParts(IbvQueuePair& qp);
  void leaveParts(IbvQueuePair& qp);
  void reserveCompletions(IbvQueuePair& qp);
  void giveCompletionsBack(IbvQueuePair& qp);
  void createHardware(IbvQueuePair& qp);
  void destroyHardware(const std::shared_ptr<IbvQueuePair>& found);
  void establish(IbvQueuePair& qp, const RemoteEnd& remote, const ConnectParameters& parameters);
  RemoteEnd readRemote(const AddressFields& from) const;

  // The error state (ibv/breaking.cc).
  void breakOff(IbvQueuePair& qp);
  void toError(IbvQueuePair& qp);
  bool postMarker(IbvQueuePair& qp);
  bool awaitEnd(IbvQueuePair& qp);
  void takeAway(IbvQueuePair& qp);
  void destroyLost(IbvQueuePair& qp);
  void lose(IbvQueuePair& qp, uint32_t firstStatus);
  void flushHere(IbvQueuePair& qp, uint32_t firstStatus);

  struct Posting;
  uint32_t acquireOne(RegionUses& uses, const Sge& entry, uint32_t pd, bool sink, uint64_t longest,
                      RequestRecord& record, ibv_sge& out);
  uint32_t acquireMany(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd, RequestRecord& record, ibv_sge* out,
                       uint64_t& length, int& count);
  uint32_t acquire(RegionUses& uses, const WorkRequestSlot& slot, uint32_t pd, RequestRecord& record, uint32_t* keys,
                   uint64_t& length);
  uint32_t prepareSend(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting);
  uint32_t prepareReceive(IbvQueuePair& qp, WorkRequestSlot& slot, Posting& posting);
  uint32_t handOver(IbvQueuePair& qp, Posting& posting);
  uint32_t postToQueuePair(IbvQueuePair& qp, WorkRequestSlot* slots, uint32_t count, bool broken);
  uint32_t postToShared(uint32_t number, WorkRequestSlot* slots, uint32_t count);
  bool translateShared(const ibv_wc& wc, CompletionSlot& out);
  std::vector<std::shared_ptr<IbvQueuePair>> allQueuePairs();

  // Events and the end (ibv/events.cc).
  void watchEvents();
  void handleEvents();  // until the device is closed or gone
  void handleEvent(const ibv_async_event& event);
  bool stillThere() const;
  // The device is gone: everything outstanding is flushed, listeners are told, the hardware's objects given back.
  void abandon(const std::string& why);
  void flushEverything();
  void flushUnderWay();
  void loseQueue(const void* cq);
  void finish();
  void deregisterAll();
  void releaseHardware();
  void checkOpen() const;

  const IbvOptions options_;
  std::shared_ptr<const IbvLibrary> library_;
  ibv_context* context_ = nullptr;
  std::string sysfsPath_;
  IbvLimits limits_{};
  ibv_device_attr attributes_{};
  mutable std::mutex portLock_;
  IbvPort port_;

  std::shared_ptr<ArenaPool> pool_;
  RegionTable regions_;
  std::unique_ptr<RegionKeys[]> keys_;
  std::mutex registrations_;  // held while one is taken back

  // Shared by whoever uses the hardware's objects outside the fast path; taken by whoever takes them all away.
  std::shared_mutex gate_;
  std::atomic<bool> closed_{false}, removed_{false};

  struct ProtectionDomain {
    ibv_pd* pd = nullptr;
    uint32_t users = 0;  // queue pairs and shared receive queues; regions are counted by their table
  };
  std::mutex objects_;
  std::vector<ProtectionDomain> pds_;
  std::vector<std::shared_ptr<IbvChannel>> channels_;
  std::vector<std::shared_ptr<IbvCompletionQueue>> cqs_;
  std::vector<std::shared_ptr<IbvSharedReceiveQueue>> shared_;
  std::unordered_set<uint32_t> lastReached_;  // queue pairs that hold nothing of their shared queue any more

  SpinLock tableLock_;
  std::vector<std::shared_ptr<IbvQueuePair>> qps_;
  std::vector<bool> qpTaken_;  // from before its creation until it is destroyed
  std::vector<uint32_t> qpGeneration_;
  std::unordered_map<uint32_t, uint32_t> byHardwareNumber_;

  IbvCounters counters_;
  std::atomic<uint32_t> connects_{0};  // under way
  WorkPool workers_;
  Fd stopEvents_;
  std::thread events_;
};

}  // namespace rdmc

#endif
