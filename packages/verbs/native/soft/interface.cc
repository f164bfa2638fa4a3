// What the soft device says about itself and its queue pairs to those who do not know what it is.
#include "core/hex.h"
#include "soft/control_segment.h"
#include "soft/device.h"

namespace rdmc {
namespace {

constexpr uint32_t kMaxCompletionQueueDepth = 1 << 20;
constexpr size_t kIdLength = 32;  // hexadecimal digits of a DeviceId

QueuePairAddress readAddress(const AddressFields& from) {
  QueuePairAddress address;
  if (const std::string kind = from.text("kind", 32); kind != "soft") {
    throw Failure("ERR_RDMC_INVALID_ADDRESS", "A soft device cannot connect to a device of kind " + kind);
  }
  if (const double version = from.number("version", 1e6); version != kControlVersion) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION", "The peer speaks version " + std::to_string(uint32_t(version)) +
                                                   " of the soft device, we speak " + std::to_string(kControlVersion) +
                                                   ": use the same @rdmc/verbs everywhere");
  }
  if (!fromHex(from.text("device", kIdLength), address.device)) {
    throw Failure("ERR_RDMC_INVALID_ADDRESS", "The address has no valid device");
  }
  address.queuePair = uint32_t(from.number("queuePair", 4294967295.0));
  address.hostId = from.text("host", 256);
  address.transport = from.text("transport", 8);
  address.tcpHost = from.text("tcpHost", 256);
  address.tcpPort = uint16_t(from.number("tcpPort", 65535));
  return address;
}

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
                   {"dmabuf", false}};
  return out;
}

NamedNumbers SoftDevice::counterValues() {
  return {{"copiedBytes", double(counters.copiedBytes)},
          {"requests", double(counters.requests)},
          {"doorbells", double(counters.doorbells)},
          {"handedOver", double(counters.handedOver)},
          {"mappedBytes", double(pool().mappedBytes())}};
}

uint32_t SoftDevice::remoteKey(uint32_t region) { return regions_.at(region).key.load(); }

bool SoftDevice::remotelyReachable(uint32_t region) { return regions_.at(region).shareable || !sharedMemory(); }

uint32_t SoftDevice::createQueuePair(const QueuePairParameters& p) {
  if (p.sharedReceiveQueue != 0) createSharedReceiveQueue(p.pd, 0);  // says that there are none
  return createQp(p.pd, p.sendCq, p.receiveCq, p.sendDepth, p.receiveDepth, p.signalAll);
}

AddressFields SoftDevice::addressOf(uint32_t number) {
  const QueuePairAddress from = address(*qpAt(number));
  AddressFields out;
  out.set("kind", "soft");
  out.set("version", double(kControlVersion));
  out.set("queuePair", double(from.queuePair));
  out.set("device", toHex(from.device));
  out.set("host", from.hostId);
  out.set("transport", from.transport);
  out.set("tcpHost", from.tcpHost);
  out.set("tcpPort", double(from.tcpPort));
  return out;
}

void SoftDevice::connectTo(uint32_t number, const AddressFields& remote, const ConnectParameters& parameters,
                           ConnectCallback done) {
  connect(number, readAddress(remote), parameters, std::move(done));
}

std::string SoftDevice::transportOf(uint32_t number) {
  const auto wire = qpAt(number)->wire();
  return wire ? wire->name() : "";
}

NamedNumbers SoftDevice::attributesOf(uint32_t number) {
  const auto found = qpAt(number);
  const ConnectParameters& parameters = found->parameters();
  return {{"state", found->state()},
          {"sendDepth", double(found->sendDepth())},
          {"receiveDepth", double(found->receiveDepth())},
          {"rnrRetries", parameters.rnrRetries},
          {"rnrTimerMs", parameters.rnrTimerMs},
          {"retryTimeoutMs", parameters.retryTimeoutMs}};
}

}  // namespace rdmc
