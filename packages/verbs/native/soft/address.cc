#include "soft/address.h"

#include "core/hex.h"

namespace rdmc {
namespace {

constexpr size_t kIdLength = 32;  // hexadecimal digits of a DeviceId

}  // namespace

AddressFields SoftAddress::fields() const {
  AddressFields out;
  out.set("kind", "soft");
  out.set("version", double(kControlVersion));
  out.set("queuePair", double(queuePair));
  out.set("device", toHex(device));
  out.set("host", hostId);
  out.set("transport", transport);
  out.set("tcpHost", tcpHost);
  out.set("tcpPort", double(tcpPort));
  return out;
}

SoftAddress SoftAddress::read(const AddressFields& from) {
  SoftAddress address;
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

}  // namespace rdmc
