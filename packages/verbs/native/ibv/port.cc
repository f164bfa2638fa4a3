// What an RDMA device's port is, and what its queue pairs can be.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ibv/device.h"
#include "ibv/gids.h"
#include "ibv/names.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

constexpr int kProbeCqDepth = 16;
constexpr uint32_t kInlineSizes[] = {kMaxInlineBytes, 128, 64, 32};
constexpr uint32_t kMaxGidIndex = 255;  // an address handle has one byte for it
// Of rdma_rxe, in struct ibv_device_attr.
constexpr uint32_t kSoftRoceVendor = 0xffffff;

// A protection domain and a completion queue to try queue pairs with.
class Probe {
 public:
  Probe(const IbvLibrary& library, ibv_context* context) : library_(library) {
    pd_ = library_.alloc_pd(context);
    cq_ = pd_ ? library_.create_cq(context, kProbeCqDepth, nullptr, nullptr, 0) : nullptr;
    error_ = errno;
  }
  ~Probe() {
    if (cq_) library_.destroy_cq(cq_);
    if (pd_) library_.dealloc_pd(pd_);
  }
  // Whether a queue pair like that can be made; `cap` is then what was granted.
  bool grants(ibv_qp_cap& cap) {
    if (!cq_) return false;
    ibv_qp_init_attr initial{};
    initial.send_cq = initial.recv_cq = cq_;
    initial.qp_type = IBV_QPT_RC;
    initial.cap = cap;
    ibv_qp* qp = library_.create_qp(pd_, &initial);
    error_ = errno;
    if (!qp) return false;
    cap = initial.cap;
    const auto inOrder = library_.query_qp_data_in_order;
    ordersWrites_ = inOrder && inOrder(qp, IBV_WR_RDMA_WRITE, 0) == 1;
    library_.destroy_qp(qp);
    return true;
  }
  bool ordersWrites() const { return ordersWrites_; }
  int error() const { return error_; }

 private:
  const IbvLibrary& library_;
  ibv_pd* pd_;
  ibv_cq* cq_;
  int error_ = 0;
  bool ordersWrites_ = false;
};

}  // namespace

bool IbvDevice::isSoftRoce() const { return attributes_.vendor_id == kSoftRoceVendor; }

IbvPort IbvDevice::port() const {
  std::lock_guard guard(portLock_);
  return port_;
}

IbvPort IbvDevice::queryPort() const {
  IbvPort out;
  if (const int error = library_->queryPort(context_, uint8_t(options_.port), &out.attributes); error != 0) {
    throw systemFailure("ibv_query_port", "Reading port " + std::to_string(options_.port) + " of " + options_.device,
                        error);
  }
  ibv_gid gid{};
  if (library_->query_gid(context_, uint8_t(options_.port), int(options_.gidIndex), &gid) != 0) gid = {};
  std::memcpy(out.gid.data(), gid.raw, out.gid.size());
  for (const SurveyedGid& each : readGids(*library_, context_, options_.port, out.attributes)) {
    if (each.index == options_.gidIndex) out.gidType = each.type;
  }
  return out;
}

// After an event: queue pairs made and connected from now on use what the port is now.
void IbvDevice::refreshPort() {
  try {
    const IbvPort now = queryPort();
    const bool empty = std::all_of(now.gid.begin(), now.gid.end(), [](uint8_t byte) { return byte == 0; });
    std::lock_guard guard(portLock_);
    // An address that is being replaced is gone for a moment.
    const bool keep = empty && now.attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    port_ = {now.attributes, keep ? port_.gid : now.gid, keep ? port_.gidType : now.gidType};
  } catch (const Failure&) {
    // Nobody asked. Whoever connects meets the reason.
  }
}

void IbvDevice::readPort() {
  if (const int error = library_->query_device(context_, &attributes_); error != 0) {
    throw systemFailure("ibv_query_device", "Opening " + options_.device, error);
  }
  if (options_.port == 0 || options_.port > attributes_.phys_port_cnt) {
    throw Failure("ERR_RDMC_UNKNOWN_PORT", options_.device + " has no port " + std::to_string(options_.port) +
                                               "; it has ports 1 to " + std::to_string(attributes_.phys_port_cnt));
  }
  const IbvPort found = queryPort();
  checkPort(found);
  port_ = found;
}

void IbvDevice::checkPort(const IbvPort& found) const {
  const ibv_port_attr& attributes = found.attributes;
  const std::string port = "Port " + std::to_string(options_.port) + " of " + options_.device;
  const std::string asked = std::to_string(options_.gidIndex);
  if (attributes.state != IBV_PORT_ACTIVE) {
    throw Failure("ERR_RDMC_PORT_DOWN", port + " is " + portStateName(attributes.state) +
                                            ": bring its network interface up (ip link set DEV up), or connect the "
                                            "cable; on InfiniBand, see that a subnet manager runs");
  }
  const int last = std::min(attributes.gid_tbl_len - 1, int(kMaxGidIndex));
  if (int64_t(options_.gidIndex) > last) {
    throw Failure("ERR_RDMC_GID_INDEX",
                  port + " has GID indices 0 to " + std::to_string(last) + ", not " + asked + ": see rdmc devices");
  }
  const bool empty = std::all_of(found.gid.begin(), found.gid.end(), [](uint8_t byte) { return byte == 0; });
  if (empty && attributes.link_layer == IBV_LINK_LAYER_ETHERNET) {
    throw Failure("ERR_RDMC_GID_INDEX", port + " has no GID at index " + asked +
                                            ": give its network interface an address, or see rdmc devices for others");
  }
  const uint32_t carried = mtuBytes(attributes.active_mtu);
  if (options_.pathMtuBytes > carried) {
    throw Failure("ERR_RDMC_PATH_MTU", port + " carries packets of " + std::to_string(carried) + " bytes, not of " +
                                           std::to_string(options_.pathMtuBytes) +
                                           ": raise the MTU of its network interface, or ask for less");
  }
}

// No attribute tells how much can be sent inline, and max_qp_wr is only what the smallest requests would have: mlx5
// grants fewer with more entries each. So queue pairs are tried.
void IbvDevice::probeQueues() {
  Probe probe(*library_, context_);
  ibv_qp_cap cap{};
  bool made = false;
  for (const uint32_t wanted : kInlineSizes) {
    cap = {1, 1, limits_.maxSge, limits_.maxSge, wanted};
    made = probe.grants(cap);
    if (!made) continue;
    limits_.maxInlineBytes = std::min(cap.max_inline_data, wanted);
    break;
  }
  if (!made) {
    throw Failure("ERR_RDMC_UNSUPPORTED",
                  options_.device + " makes no reliable-connection queue pair: " + errorText(probe.error()),
                  probe.error(), "ibv_create_qp");
  }
  limits_.ordersWrites = probe.ordersWrites();
  const uint32_t most = std::min(uint32_t(attributes_.max_qp_wr), limits_.maxCompletionQueueDepth);
  const auto deepest = [&](uint32_t ibv_qp_cap::*depth) {
    for (uint32_t wanted = most; wanted > 1; wanted /= 2) {
      cap = {1, 1, limits_.maxSge, limits_.maxSge, limits_.maxInlineBytes};
      cap.*depth = wanted;
      if (probe.grants(cap)) return wanted;
    }
    return 1u;
  };
  // rdma_rxe grants every depth, and takes time and memory for it.
  const bool plain = isSoftRoce();
  limits_.maxSendDepth = plain ? most : deepest(&ibv_qp_cap::max_send_wr);
  // One is ours, to know when a broken queue is empty.
  limits_.maxReceiveDepth = (plain ? most : deepest(&ibv_qp_cap::max_recv_wr)) - 1;
}

}  // namespace rdmc

#endif
