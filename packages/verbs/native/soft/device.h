// The soft device: the device interface in user space. Owns the other objects of soft/.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/arena_pool.h"
#include "core/device.h"
#include "core/fixed_vector.h"
#include "core/region_table.h"
#include "soft/completion_queue.h"
#include "soft/control_segment.h"
#include "soft/queue_pair.h"
#include "soft/region_directory.h"
#include "soft/service_thread.h"
#include "soft/waits.h"
#include "soft/write_tear.h"

namespace rdmc {

class ShmTransport;
class SoftTransport;
class TcpTransport;
struct SoftAddress;

constexpr uint32_t kCqIndexBits = 8;
constexpr uint32_t kCqGenerations = 1u << (32 - kCqIndexBits);
static_assert(kMaxCqs == 1u << kCqIndexBits);

struct SoftOptions {
  std::string transport;  // auto, shm, tcp
  std::string host;
  uint16_t port = 0;
  std::vector<uint8_t> key;
  uint64_t linkRate = 0;  // bits per second of each direction over TCP; 0: as fast as the machine
};

struct DeviceCounters {
  std::atomic<uint64_t> copiedBytes{0}, requests{0}, receives{0}, doorbells{0}, handedOver{0}, released{0};
};

class SoftDevice final : public Device {
 public:
  explicit SoftDevice(SoftOptions options);
  ~SoftDevice() override;
  void close() override;
  DeviceDescription describe() const override;
  NamedNumbers counterValues() override;

  const DeviceId& id() const { return id_; }
  const SoftOptions& options() const { return options_; }
  const ControlSegment& control() const { return control_; }
  RegionTable& regions() override { return regions_; }
  ArenaPool& pool() { return *pool_; }
  ServiceThread& service() { return *service_; }
  bool sharedMemory() const { return options_.transport != "tcp"; }
  const std::string& hostId() const { return hostId_; }
  uint16_t tcpPort() const;

  uint32_t createProtectionDomain() override;
  void destroyProtectionDomain(uint32_t pd) override;

  uint32_t allocateRegion(uint32_t pd, uint64_t length, uint32_t access) override;
  uint32_t allocateUnpopulated(uint32_t pd, uint64_t length, uint32_t access) override;
  // The extent is mapped for the device as ever. The region's address is that of a second mapping, which is PROT_NONE.
  uint32_t allocateWithoutHostAccess(uint32_t pd, uint64_t length, uint32_t access) override;
  uint32_t registerRegion(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) override;
  uint32_t remoteKey(uint32_t region) override;
  bool remotelyReachable(uint32_t region) override;
  void revokeRegion(uint32_t region) override;
  void closeRegion(uint32_t region) override;
  void evictRegion(uint32_t region) override;

  int createChannel() override;
  std::shared_ptr<Channel> channel(int id) override { return channelAt(id); }
  void destroyChannel(int id) override;
  // A completion queue grows with its completions: the depth is not used.
  uint32_t createCompletionQueue(uint32_t depth, int channel) override;
  std::shared_ptr<CompletionQueue> completionQueue(uint32_t handle) override { return cqAt(handle); }
  void destroyCompletionQueue(uint32_t handle) override;
  uint32_t poll(CompletionQueue& queue, CompletionSlot* out, uint32_t max) override;

  uint32_t createQueuePair(const QueuePairParameters& parameters) override;
  std::shared_ptr<QueuePair> qp(uint32_t number);    // nullptr when there is none
  std::shared_ptr<QueuePair> qpAt(uint32_t number);  // throws ERR_RDMC_QUEUE_PAIR_CLOSED
  AddressFields addressOf(uint32_t number) override;
  void connect(uint32_t number, const AddressFields& remote, const ConnectParameters& parameters,
               ConnectCallback done) override;
  QpState stateOf(uint32_t number) override { return qpAt(number)->state(); }
  std::string transportOf(uint32_t number) override;
  NamedNumbers attributesOf(uint32_t number) override;
  bool dataInOrder(uint32_t number) override;
  void failQueuePair(uint32_t number) override { qpAt(number)->fail(kFlushed); }
  void destroyQueuePair(uint32_t number) override;
  // The page of a destroyed queue pair is not used any more.
  void freeQpIndex(uint32_t index);

  // A native thread of the device has failed: queue pairs fail, listeners get the event `deviceRemoved`, and everything
  // except closing fails with ERR_RDMC_DEVICE_REMOVED. Any thread.
  void abandon(const Failure& why) noexcept;

  // Posts a batch; writes each slot's result. Returns how many were refused.
  uint32_t post(WorkRequestSlot* slots, uint32_t count) override;

  void tearWrites(uint64_t afterBytes, bool kill) override { tear_.arm(afterBytes, kill); }
  WriteTear& tear() { return tear_; }

  Waits& waits() { return waits_; }

  // For wires and transports.
  // The service thread continues the queue pair's requests.
  void handOver(std::shared_ptr<QueuePair> qp);
  // False: the peer may still change bytes, and an event was raised.
  bool waitForPeer(QueuePair& qp, const ControlSegment& peer);
  void countCopied(uint64_t bytes) { counters.copiedBytes.fetch_add(bytes, std::memory_order_relaxed); }
  template <typename Visit>
  void eachQp(Visit visit) {
    std::vector<std::shared_ptr<QueuePair>> all;
    {
      std::lock_guard guard(tableLock_);
      const uint32_t highest = highestQp_.load(std::memory_order_relaxed);
      for (uint32_t i = 0; i <= highest; ++i) {
        if (qps_[i]) all.push_back(qps_[i]);
      }
    }
    for (const auto& each : all) visit(each);
  }

  DeviceCounters counters;

 private:
  // Allocates nothing, since memory may have run out. Exceptions of `visit` are ignored for the same reason.
  template <typename Visit>
  void eachQpWithoutMemory(Visit visit) noexcept {
    for (uint32_t i = 0; i <= highestQp_.load(); ++i) {
      std::shared_ptr<QueuePair> qp;
      {
        std::lock_guard guard(tableLock_);
        qp = qps_[i];
      }
      try {
        if (qp) visit(*qp);
      } catch (const std::exception&) {
        // It is in the error state; some of its completions are lost.
      }
    }
  }
  // The queue pairs of one doorbell.
  using TouchedQps = FixedVector<std::shared_ptr<QueuePair>, kBatchSlots>;
  uint32_t accept(QueuePair& target, WorkRequestSlot* slots, uint32_t count, bool broken, bool& sends);
  void progressInTurns(TouchedQps& active);
  void handOver(TouchedQps& qps);
  int turn();
  int turnOnce();
  bool drive(QueuePair& qp, int64_t& nextNs, bool& more);
  // Returns false when a stopped peer still holds the page busy.
  bool waitWhileBusy(QueuePair& qp, uint32_t regionIndex, bool anyRegion);
  // Both throw Failure where there is no fresh memory for a region in which a peer is stopped.
  void quiesceRegion(uint32_t index);
  void relocateRegion(uint32_t index);
  void endChannels();
  void checkUsable() const;                        // throws ERR_RDMC_DEVICE_REMOVED
  void checkProtectionDomain(uint32_t pd);         // throws ERR_RDMC_PROTECTION_DOMAIN_CLOSED
  // Both throw ERR_RDMC_CHANNEL_CLOSED; the second with objects_ held.
  std::shared_ptr<SoftChannel> channelAt(int id);
  std::shared_ptr<SoftChannel>& channelHere(int id);
  // A handle is index | generation << 8: a handle that another thread has closed is not valid for the queue that took
  // the slot.
  std::shared_ptr<SoftCompletionQueue> cqAt(uint32_t handle);    // throws ERR_RDMC_COMPLETION_QUEUE_CLOSED
  std::shared_ptr<SoftCompletionQueue> cqHere(uint32_t handle);  // the same with objects_ held
  // The same, and counts a user: it cannot be destroyed until that leaves.
  std::shared_ptr<SoftCompletionQueue> useCq(uint32_t handle);
  uint32_t takeQpIndex();
  // Which transport connects two devices; both sides choose by the same facts. Throws ERR_RDMC_CONNECT_FAILED.
  SoftTransport& transportTo(const SoftAddress& remote) const;

  SoftOptions options_;
  DeviceId id_;
  std::string hostId_;
  ControlSegment control_;
  std::shared_ptr<ArenaPool> pool_;
  SharedRegionDirectory directory_;
  RegionTable regions_;

  WriteTear tear_;
  Waits waits_;

  std::mutex objects_;
  std::vector<bool> pds_;  // by number; open
  std::vector<std::shared_ptr<SoftChannel>> channels_;
  std::array<std::shared_ptr<SoftCompletionQueue>, kMaxCqs> cqs_;
  std::array<uint32_t, kMaxCqs> cqGenerations_{};

  SpinLock tableLock_;
  std::array<std::shared_ptr<QueuePair>, kMaxQps> qps_;
  std::vector<bool> qpPageTaken_;
  std::vector<uint32_t> qpGeneration_;
  std::atomic<uint32_t> highestQp_{0};  // written under tableLock_, read by polls without it

  std::mutex relocation_;
  std::mutex unfinishedLock_;
  uint64_t releasedBefore_ = 0;  // requests that waited, at the last turn
  uint64_t copiedBefore_ = 0;    // bytes
  int lingers_ = 0;              // turns before the service thread sleeps
  std::vector<std::shared_ptr<QueuePair>> unfinished_;

  std::unique_ptr<ShmTransport> shm_;  // before the thread that uses it: destroyed after that has ended
  std::unique_ptr<ServiceThread> service_;
  std::unique_ptr<TcpTransport> tcp_;
  std::atomic<bool> closed_{false}, removed_{false};
};

}  // namespace rdmc
