// The interface of every kind of device. The binding to JavaScript uses nothing else, so that the layers above it tell
// devices apart by their description only.
//
// Virtual calls are made per batch, never per work request or per completion.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/address_fields.h"
#include "core/async_events.h"
#include "core/constants.h"
#include "core/failure.h"
#include "core/region_table.h"

namespace rdmc {

using NamedNumbers = std::vector<std::pair<const char*, double>>;

struct DeviceDescription {
  std::string kind, name, transport;
  uint16_t listeningPort = 0;  // TCP side of the soft device; 0: none
  NamedNumbers limits;         // DeviceAttributes of src/contract.ts
  std::vector<std::pair<const char*, bool>> abilities;
  std::vector<std::pair<const char*, std::string>> details;  // for logs and `rdmc devices`
};

// Wakes an event loop. `fd` is readable when there is something; `drain` makes it unreadable again.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual int fd() const = 0;  // an epoll
  virtual void drain() = 0;
  // Takes at least one of the pending events, in as few system calls as possible; `fd` stays readable while more are
  // pending.
  virtual void take() { drain(); }
  // Makes `fd` readable. Any thread.
  virtual void signal() const = 0;
  // Blocks the calling thread until an event is pending, and takes it. Also returns after `timeoutMs` (-1: no limit),
  // after a signal of the system, and from `end` on. One thread at a time.
  void wait(int timeoutMs);
  // The channel or its device is closed, or gone: the thread that waits returns. Event loops are not woken. Any thread.
  void end();

 private:
  std::atomic<bool> waiting_{false}, ended_{false};
};

// A completion queue, as the binding holds it.
class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  virtual void arm(bool solicitedOnly) = 0;
};

struct QueuePairParameters {
  uint32_t pd = 0, sendCq = 0, receiveCq = 0, sendDepth = 0, receiveDepth = 0;
  bool signalAll = false;
  uint32_t sharedReceiveQueue = 0;  // 0: a receive queue of its own
};

struct ConnectParameters {
  uint32_t rnrRetries = 7;
  uint32_t rnrTimerMs = 10;
  uint32_t retryTimeoutMs = 2000;
  uint32_t weight = 1;        // soft device: turns in a row while others wait
  uint32_t trafficClass = 0;  // of all its packets: IP's TOS byte, IPv6's and the GRH's traffic class
  uint32_t serviceLevel = 0;  // RDMA devices: IBA 7.6.5; on Ethernet the priority
};

// Called once, from any thread, with nullptr on success.
using ConnectCallback = std::function<void(const Failure*)>;

class Device {
 public:
  virtual ~Device() = default;
  // All its objects stop working; idempotent. Any thread.
  virtual void close() = 0;
  virtual DeviceDescription describe() const = 0;
  virtual NamedNumbers counterValues() = 0;

  // Threads share protection domains, regions, channels and queues by handle. A handle is used for one object only: a
  // stale handle fails with ERR_RDMC_…_CLOSED, even if other objects were created since.
  virtual RegionTable& regions() = 0;
  virtual uint32_t createProtectionDomain() = 0;
  virtual void destroyProtectionDomain(uint32_t pd) = 0;
  virtual uint32_t allocateRegion(uint32_t pd, uint64_t length, uint32_t access) = 0;
  // Its pages are not there yet: each comes with its first use, or with `populateRegion`. RDMA devices fault them in.
  virtual uint32_t allocateUnpopulated(uint32_t pd, uint64_t length, uint32_t access) {
    return allocateRegion(pd, length, access);
  }
  // Faults in the memory of a region that was allocated here; may take long. The region may be closed meanwhile.
  void populateRegion(uint32_t region);
  // Memory that only the device and peers can read and write. Throws ERR_RDMC_UNSUPPORTED where the device cannot.
  virtual uint32_t allocateWithoutHostAccess(uint32_t pd, uint64_t length, uint32_t access);
  virtual uint32_t registerRegion(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) = 0;
  // Memory of another device (a GPU) by its dma-buf. Throws ERR_RDMC_UNSUPPORTED where the device cannot.
  virtual uint32_t registerDmabuf(uint32_t pd, int fd, uint64_t offset, uint64_t length, uint32_t access);
  // The key that peers use, and whether peers can reach the region.
  virtual uint32_t remoteKey(uint32_t region) = 0;
  virtual bool remotelyReachable(uint32_t region) = 0;
  virtual void revokeRegion(uint32_t region) = 0;
  virtual void closeRegion(uint32_t region) = 0;
  // The memory of a region of `registerRegion` is about to be freed. A barrier: when it returns, neither the device nor
  // a peer reads or writes that memory, and the handle is not valid any more. The queue pairs whose requests still use
  // it fail. Nothing happens to a region that is closed. Any thread, also after `close`.
  virtual void evictRegion(uint32_t region) = 0;

  virtual int createChannel() = 0;
  virtual std::shared_ptr<Channel> channel(int id) = 0;
  virtual void destroyChannel(int id) = 0;
  virtual uint32_t createCompletionQueue(uint32_t depth, int channel) = 0;
  virtual std::shared_ptr<CompletionQueue> completionQueue(uint32_t handle) = 0;
  virtual void destroyCompletionQueue(uint32_t handle) = 0;
  virtual uint32_t poll(CompletionQueue& queue, CompletionSlot* out, uint32_t max) = 0;

  virtual uint32_t createSharedReceiveQueue(uint32_t pd, uint32_t depth);
  virtual void destroySharedReceiveQueue(uint32_t number);

  virtual uint32_t createQueuePair(const QueuePairParameters& parameters) = 0;
  virtual AddressFields addressOf(uint32_t number) = 0;
  // Returns at once; the connection is made on a native thread.
  virtual void connect(uint32_t number, const AddressFields& remote, const ConnectParameters& parameters,
                       ConnectCallback done) = 0;
  virtual QpState stateOf(uint32_t number) = 0;
  virtual std::string transportOf(uint32_t number) = 0;
  virtual NamedNumbers attributesOf(uint32_t number) = 0;
  // Whether a WRITE's bytes become visible in increasing address order on this queue pair.
  virtual bool dataInOrder(uint32_t number) = 0;
  // The error state: a barrier.
  virtual void failQueuePair(uint32_t number) = 0;
  virtual void destroyQueuePair(uint32_t number) = 0;

  // Posts a batch; writes each slot's result. Returns how many were refused.
  virtual uint32_t post(WorkRequestSlot* slots, uint32_t count) = 0;

  // For tests: see soft/write_tear.h. Throws ERR_RDMC_UNSUPPORTED where the device cannot.
  virtual void tearWrites(uint64_t afterBytes, bool kill);

  // Events that do not belong to a completion queue.
  AsyncEvents& events() { return events_; }

 private:
  AsyncEvents events_;
};

}  // namespace rdmc
