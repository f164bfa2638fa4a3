// The description of the soft device and of its queue pairs, in the terms of the device interface.
#include "soft/control_segment.h"
#include "soft/device.h"
#include "soft/tcp/transport.h"
#include "soft/transport.h"

namespace rdmc {
namespace {

constexpr uint32_t kMaxCompletionQueueDepth = 1 << 20;

}  // namespace

DeviceDescription SoftDevice::describe() const {
  DeviceDescription out;
  out.kind = out.name = "soft";
  out.transport = options_.transport;
  out.listeningPort = tcpPort();
  out.limits = {{"maxQueuePairs", kMaxQps - 1},
                {"maxCompletionQueues", kMaxCqs},
                {"maxCompletionQueueDepth", kMaxCompletionQueueDepth},
                {"maxSendDepth", kMaxSendDepth},
                {"maxReceiveDepth", kMaxReceiveDepth},
                {"maxSge", kMaxSge},
                {"maxInlineBytes", kMaxInlineBytes},
                {"maxMessageBytes", double(kMaxMessageBytes)},
                {"maxRegions", kMaxRegions - 1},
                {"writeOrderUnitBytes", options_.transport == "shm" ? 64 : 0}};
  out.abilities = {{"registeredMemoryIsRemote", !sharedMemory()},
                   {"sharedReceiveQueues", false},
                   {"atomics", true},
                   {"ordersWrites", true},
                   {"waitFor", true},
                   {"networkWeights", options_.linkRate > 0},
                   {"dmabuf", false}};
  return out;
}

NamedNumbers SoftDevice::counterValues() {
  return {{"copiedBytes", double(counters.copiedBytes)}, {"requests", double(counters.requests)},
          {"doorbells", double(counters.doorbells)},     {"handedOver", double(counters.handedOver)},
          {"released", double(counters.released)},       {"mappedBytes", double(pool().mappedBytes())}};
}

uint32_t SoftDevice::remoteKey(uint32_t region) { return regions_.at(region).key.load(); }

bool SoftDevice::remotelyReachable(uint32_t region) { return regions_.at(region).shareable || !sharedMemory(); }

AddressFields SoftDevice::addressOf(uint32_t number) {
  SoftAddress address;
  address.device = id_;
  address.queuePair = qpAt(number)->number();
  address.hostId = hostId_;
  address.transport = options_.transport;
  address.tcpHost = tcp_ ? options_.host : "";
  address.tcpPort = tcpPort();
  return address.fields();
}

std::string SoftDevice::transportOf(uint32_t number) {
  const auto wire = qpAt(number)->wireNow();
  return wire ? wire->transport().name() : "";
}

bool SoftDevice::dataInOrder(uint32_t number) {
  const auto wire = qpAt(number)->wireNow();
  return wire && wire->transport().dataInOrder();
}

NamedNumbers SoftDevice::attributesOf(uint32_t number) {
  const auto found = qpAt(number);
  const ConnectParameters parameters = found->parametersNow();
  return {{"state", found->state()},
          {"sendDepth", double(found->sendDepth())},
          {"receiveDepth", double(found->receiveDepth())},
          {"rnrRetries", parameters.rnrRetries},
          {"rnrTimerMs", parameters.rnrTimerMs},
          {"retryTimeoutMs", parameters.retryTimeoutMs},
          {"weight", parameters.weight},
          {"trafficClass", parameters.trafficClass},
          {"serviceLevel", parameters.serviceLevel},
          {"brokenByWait", found->brokenByWait() ? 1 : 0}};
}

}  // namespace rdmc
