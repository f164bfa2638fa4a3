#include "ibv/names.h"

#if RDMC_WITH_IBVERBS

#include <arpa/inet.h>

namespace rdmc {

const char* portStateName(int state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "initializing";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ACTIVE_DEFER:
      return "active, deferred";
    default:
      return "in an unknown state";
  }
}

const char* linkLayerName(int layer) {
  switch (layer) {
    case IBV_LINK_LAYER_ETHERNET:
      return "ethernet";
    default:  // devices older than the attribute are InfiniBand
      return "infiniband";
  }
}

uint32_t mtuBytes(int mtu) { return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0; }

int mtuOf(uint32_t bytes) {
  for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; ++mtu) {
    if (mtuBytes(mtu) == bytes) return mtu;
  }
  return 0;
}

std::string gidText(const std::array<uint8_t, 16>& gid) {
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(AF_INET6, gid.data(), text, sizeof text) ? text : "";
}

}  // namespace rdmc

#endif
