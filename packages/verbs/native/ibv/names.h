// Enumerations of libibverbs as text and as plain numbers.
#pragma once
#include <array>
#include <string>

#include "ibv/header.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

const char* portStateName(int state);
const char* linkLayerName(int layer);
// 256 to 4096, and the enumeration for it; 0 where there is none.
uint32_t mtuBytes(int mtu);
int mtuOf(uint32_t bytes);
// As an IPv6 address: fe80::1, ::ffff:10.0.0.1.
std::string gidText(const std::array<uint8_t, 16>& gid);

}  // namespace rdmc

#endif
