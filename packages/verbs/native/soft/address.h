// Where a queue pair of a soft device is reached.
#pragma once
#include <cstdint>
#include <string>

#include "core/address_fields.h"
#include "soft/control_segment.h"

namespace rdmc {

struct SoftAddress {
  DeviceId device{};
  uint32_t queuePair = 0;
  std::string hostId, transport, tcpHost;
  uint16_t tcpPort = 0;

  // As it travels, with the version of the protocols.
  AddressFields fields() const;
  // Throws Failure ERR_RDMC_INVALID_ADDRESS, ERR_RDMC_PROTOCOL_VERSION.
  static SoftAddress read(const AddressFields& from);
};

}  // namespace rdmc
