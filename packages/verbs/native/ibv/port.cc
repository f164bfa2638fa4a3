#include "ibv/port.h"

#if RDMC_WITH_IBVERBS

#include <algorithm>
#include <cstring>

#include "ibv/gids.h"
#include "ibv/names.h"

namespace rdmc {
namespace {

constexpr uint32_t kMaxGidIndex = 255;  // an address handle has one byte for it

}  // namespace

IbvPort::IbvPort(const IbvContext& context) : context_(context) {
  const uint32_t number = context.options().port;
  const uint32_t ports = context.attributes().phys_port_cnt;
  if (number == 0 || number > ports) {
    throw Failure("ERR_RDMC_UNKNOWN_PORT", context.name() + " has no port " + std::to_string(number) +
                                               "; it has ports 1 to " + std::to_string(ports));
  }
  state_ = query();
  check(state_);
}

IbvPortState IbvPort::now() const {
  std::lock_guard guard(lock_);
  return state_;
}

IbvPortState IbvPort::query() const {
  const IbvOptions& options = context_.options();
  const IbvLibrary& library = context_.library();
  IbvPortState out;
  if (const int error = library.queryPort(context_.hardware(), uint8_t(options.port), &out.attributes); error != 0) {
    throw systemFailure("ibv_query_port", "Reading port " + std::to_string(options.port) + " of " + options.device,
                        error);
  }
  ibv_gid gid{};
  if (library.query_gid(context_.hardware(), uint8_t(options.port), int(options.gidIndex), &gid) != 0) gid = {};
  std::memcpy(out.gid.data(), gid.raw, out.gid.size());
  for (const SurveyedGid& each : readGids(library, context_.hardware(), options.port, out.attributes)) {
    if (each.index == options.gidIndex) out.gidType = each.type;
  }
  return out;
}

void IbvPort::refresh() {
  try {
    const IbvPortState now = query();
    const bool empty = std::all_of(now.gid.begin(), now.gid.end(), [](uint8_t byte) { return byte == 0; });
    std::lock_guard guard(lock_);
    // While an address is replaced, the GID is empty for a moment.
    const bool keep = empty && now.ethernet();
    state_ = {now.attributes, keep ? state_.gid : now.gid, keep ? state_.gidType : now.gidType};
  } catch (const Failure&) {
    // This was not asked for. The next connect fails with the reason.
  }
}

void IbvPort::check(const IbvPortState& found) const {
  const IbvOptions& options = context_.options();
  const ibv_port_attr& attributes = found.attributes;
  const std::string port = "Port " + std::to_string(options.port) + " of " + options.device;
  const std::string asked = std::to_string(options.gidIndex);
  if (attributes.state != IBV_PORT_ACTIVE) {
    throw Failure("ERR_RDMC_PORT_DOWN", port + " is " + portStateName(attributes.state) +
                                            ": bring its network interface up (ip link set DEV up), or connect the "
                                            "cable; on InfiniBand, see that a subnet manager runs");
  }
  const int last = std::min(attributes.gid_tbl_len - 1, int(kMaxGidIndex));
  if (int64_t(options.gidIndex) > last) {
    throw Failure("ERR_RDMC_GID_INDEX",
                  port + " has GID indices 0 to " + std::to_string(last) + ", not " + asked + ": see rdmc devices");
  }
  const bool empty = std::all_of(found.gid.begin(), found.gid.end(), [](uint8_t byte) { return byte == 0; });
  if (empty && found.ethernet()) {
    throw Failure("ERR_RDMC_GID_INDEX", port + " has no GID at index " + asked +
                                            ": give its network interface an address, or see rdmc devices for others");
  }
  const uint32_t carried = mtuBytes(attributes.active_mtu);
  if (options.pathMtuBytes > carried) {
    throw Failure("ERR_RDMC_PATH_MTU", port + " carries packets of " + std::to_string(carried) + " bytes, not of " +
                                           std::to_string(options.pathMtuBytes) +
                                           ": raise the MTU of its network interface, or ask for less");
  }
}

}  // namespace rdmc

#endif
