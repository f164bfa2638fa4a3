// An RDMA device through libibverbs, as the rest of the addon sees any device.
//
// It consists of objects that each guard their own state. An object refers to those above it:
//
//   IbvContext               the device that is open, its options, whether it can still be used
//   IbvPort                  its port
//   IbvQueuePairTable        queue pairs by number
//   IbvErrorState            breaking queue pairs, and waiting until the device has finished with them
//   IbvDomains               protection domains
//   IbvRegistrations         memory regions
//   IbvSharedReceiveQueues   shared receive queues
//   IbvTranslator            completions on their way from the device
//   IbvCompletionQueues      completion channels and completion queues
//   IbvQueuePairs            creating and destroying queue pairs
//   IbvConnector             connecting them
//   IbvPoster                work requests on their way to the device
//   IbvEvents                asynchronous events
//
// Threads: that of IbvEvents reads asynchronous events and watches whether the device is still there; those of
// IbvConnector make the state changes that may block. Everything else runs in the caller's thread.
//
// Locks: ibv/lock_order.h.
#pragma once
#include <memory>
#include <string>

#include "core/device.h"
#include "ibv/completion_queues.h"
#include "ibv/connector.h"
#include "ibv/context.h"
#include "ibv/domains.h"
#include "ibv/error_state.h"
#include "ibv/events.h"
#include "ibv/limits.h"
#include "ibv/port.h"
#include "ibv/poster.h"
#include "ibv/queue_pairs.h"
#include "ibv/registrations.h"
#include "ibv/shared_receive_queues.h"
#include "ibv/translator.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvDevice final : public Device, public std::enable_shared_from_this<IbvDevice> {
 public:
  explicit IbvDevice(IbvOptions options);
  ~IbvDevice() override;
  void close() override;
  DeviceDescription describe() const override;
  NamedNumbers counterValues() override;

  RegionTable& regions() override { return regions_; }
  uint32_t createProtectionDomain() override { return domains_.create(); }
  void destroyProtectionDomain(uint32_t number) override { domains_.destroy(number); }
  uint32_t allocateRegion(uint32_t pd, uint64_t length, uint32_t access) override {
    return registrations_.allocate(pd, length, access);
  }
  uint32_t registerRegion(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) override {
    return registrations_.registerMemory(pd, memory, length, access);
  }
  uint32_t registerDmabuf(uint32_t pd, int fd, uint64_t offset, uint64_t length, uint32_t access) override {
    return registrations_.registerDmabuf(pd, fd, offset, length, access);
  }
  uint32_t remoteKey(uint32_t region) override { return registrations_.remoteKey(region); }
  bool remotelyReachable(uint32_t region) override;
  void revokeRegion(uint32_t region) override { registrations_.revoke(region); }
  void closeRegion(uint32_t region) override { registrations_.close(region); }
  void evictRegion(uint32_t region) override;

  int createChannel() override { return completionQueues_.createChannel(); }
  std::shared_ptr<Channel> channel(int id) override { return completionQueues_.channel(id); }
  void destroyChannel(int id) override { completionQueues_.destroyChannel(id); }
  uint32_t createCompletionQueue(uint32_t depth, int channel) override {
    return completionQueues_.create(depth, channel);
  }
  std::shared_ptr<CompletionQueue> completionQueue(uint32_t number) override { return completionQueues_.at(number); }
  void destroyCompletionQueue(uint32_t number) override { completionQueues_.destroy(number); }
  uint32_t poll(CompletionQueue& queue, CompletionSlot* out, uint32_t max) override {
    return static_cast<IbvCompletionQueue&>(queue).poll(out, max);
  }

  uint32_t createSharedReceiveQueue(uint32_t pd, uint32_t depth) override { return shared_.create(pd, depth); }
  void destroySharedReceiveQueue(uint32_t number) override { shared_.destroy(number); }
  uint32_t createQueuePair(const QueuePairParameters& parameters) override { return queuePairs_.create(parameters); }
  AddressFields addressOf(uint32_t number) override { return connector_.address(*table_.at(number)); }
  void connect(uint32_t number, const AddressFields& remote, const ConnectParameters& parameters,
               ConnectCallback done) override {
    connector_.connect(table_.at(number), remote, parameters, std::move(done));
  }
  QpState stateOf(uint32_t number) override { return queuePairs_.state(number); }
  std::string transportOf(uint32_t number) override { return connector_.transport(*table_.at(number)); }
  NamedNumbers attributesOf(uint32_t number) override { return queuePairs_.attributes(number); }
  bool dataInOrder(uint32_t number) override { return queuePairs_.dataInOrder(number); }
  void failQueuePair(uint32_t number) override { errors_.fail(*table_.at(number)); }
  void destroyQueuePair(uint32_t number) override { queuePairs_.destroy(number); }
  uint32_t post(WorkRequestSlot* slots, uint32_t count) override { return poster_.post(slots, count); }

 private:
  // The device is gone: everything outstanding is flushed, listeners are told, the hardware's objects given back.
  void abandon(const std::string& why);
  void flushEverything();
  void finish();
  void releaseHardware();

  IbvContext context_;
  IbvPort port_;
  const IbvLimits limits_;
  RegionTable regions_{nullptr};
  IbvQueuePairTable table_;
  IbvErrorState errors_;
  IbvDomains domains_;
  IbvRegistrations registrations_;
  IbvSharedReceiveQueues shared_;
  IbvTranslator translator_;
  IbvCompletionQueues completionQueues_;
  IbvQueuePairs queuePairs_;
  IbvConnector connector_;
  IbvPoster poster_;
  IbvEvents events_;  // the last one: its thread uses the others
};

}  // namespace rdmc

#endif
