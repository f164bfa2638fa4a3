// The port that an RDMA device uses: its state now, which events change.
#pragma once
#include <array>
#include <mutex>
#include <string>

#include "ibv/context.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

struct IbvPortState {
  ibv_port_attr attributes{};
  std::array<uint8_t, 16> gid{};
  std::string gidType;  // as in SurveyedGid
  bool ethernet() const { return attributes.link_layer == IBV_LINK_LAYER_ETHERNET; }
};

class IbvPort {
 public:
  // Throws Failure where the port cannot be used as the options ask.
  explicit IbvPort(const IbvContext& context);
  IbvPortState now() const;
  // After an event: queue pairs that are created and connected from now on use what the port is now.
  void refresh();

 private:
  IbvPortState query() const;
  void check(const IbvPortState& found) const;
  const IbvContext& context_;
  mutable std::mutex lock_;  // no other is taken while it is held
  IbvPortState state_;
};

}  // namespace rdmc

#endif
