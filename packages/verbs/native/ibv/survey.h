// What RDMA devices libibverbs sees, for choosing one and for `rdmc devices`.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmc {

struct SurveyedGid {
  uint32_t index;
  std::string gid;   // as an IPv6 address
  std::string type;  // infiniband, roce-v1, roce-v2
  std::string netdev;
};

struct SurveyedPort {
  uint32_t number;
  std::string state, linkLayer;
  uint32_t activeMtuBytes, maxMtuBytes, lid;
  std::vector<SurveyedGid> gids;
};

struct SurveyedDevice {
  std::string name, file, transport;  // transport: infiniband (RoCE included), iwarp, other
  std::string error;                  // why it could not be opened; empty: it could
  int errorNumber = 0;
  std::vector<SurveyedPort> ports;
};

struct Survey {
  std::string library;  // its path
  std::vector<SurveyedDevice> devices;
};

// Throws Failure ERR_RDMC_IBVERBS_NOT_BUILT, ERR_RDMC_IBVERBS_MISSING, ERR_RDMC_IBVERBS_TOO_OLD.
Survey surveyIbverbs(const std::string& path);

}  // namespace rdmc
