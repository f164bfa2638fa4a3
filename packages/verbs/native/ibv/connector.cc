#include "ibv/connector.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <shared_mutex>

#include "core/hex.h"
#include "ibv/names.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

constexpr uint32_t kAddressVersion = 2;  // 2: with gidType
constexpr uint32_t kMaxReads = 16;
constexpr uint8_t kHopLimit = 64;
// Not 7, which some devices take for "for ever"; not few, because on other devices the waits for a receiver that is not
// ready count as well.
constexpr uint8_t kRetries = 6;
constexpr uint8_t kLeastTimeoutExponent = 8;
constexpr uint8_t kMostTimeoutExponent = 21;

// A packet is given up after kRetries + 1 timeouts of 4.096 µs * 2^exponent each (IBA 9.7.6.1.3).
uint8_t timeoutExponent(uint32_t totalMs) {
  uint8_t exponent = kLeastTimeoutExponent;
  const auto total = [](uint8_t e) { return (kRetries + 1) * 4.096e-3 * double(1u << e); };
  while (exponent < kMostTimeoutExponent && total(uint8_t(exponent + 1)) <= totalMs) ++exponent;
  return exponent;
}

// The code for a wait of at least that long (IBA table 45, in hundredths of a millisecond).
uint8_t rnrTimerCode(uint32_t ms) {
  static const uint32_t waits[] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                   48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                   2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  for (size_t code = 1; code < std::size(waits); ++code) {
    if (waits[code] >= ms * 100) return uint8_t(code);
  }
  return 0;
}

}  // namespace

AddressFields IbvConnector::address(IbvQueuePair& qp) const {
  std::lock_guard guard(qp.posting);
  if (!qp.qp) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed");
  AddressFields out;
  out.set("kind", "ibverbs");
  out.set("version", double(kAddressVersion));
  out.set("queuePair", double(qp.qp->qp_num));
  out.set("packetNumber", double(qp.packetNumber));
  const IbvPortState here = port_.now();
  out.set("linkLayer", linkLayerName(here.attributes.link_layer));
  out.set("gid", toHex(here.gid));
  out.set("gidType", here.gidType);
  if (!here.ethernet()) out.set("lid", double(here.attributes.lid));
  const uint32_t mtu = mtuBytes(here.attributes.active_mtu);
  const uint32_t asked = context_.options().pathMtuBytes;
  out.set("mtu", double(asked ? std::min(asked, mtu) : mtu));
  out.set("reads", double(std::min<uint32_t>(uint32_t(context_.attributes().max_qp_rd_atom), kMaxReads)));
  return out;
}

IbvConnector::RemoteEnd IbvConnector::readRemote(const AddressFields& from) const {
  if (const std::string kind = from.text("kind", 32); kind != "ibverbs") {
    throw Failure("ERR_RDMC_INVALID_ADDRESS", context_.name() + " cannot connect to a device of kind " + kind);
  }
  if (const double version = from.number("version", 1e6); version != kAddressVersion) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION", "The peer's address has version " + std::to_string(uint32_t(version)) +
                                                   ", ours " + std::to_string(kAddressVersion) +
                                                   ": use the same @rdmc/verbs everywhere");
  }
  RemoteEnd out{};
  out.queuePair = uint32_t(from.number("queuePair", (1u << 24) - 1));
  out.packetNumber = uint32_t(from.number("packetNumber", (1u << 24) - 1));
  out.mtuBytes = uint32_t(from.number("mtu", 4096));
  out.reads = uint32_t(from.number("reads", kMaxReads));
  if (mtuOf(out.mtuBytes) == 0) throw Failure("ERR_RDMC_INVALID_ADDRESS", "The address has no valid mtu");
  if (!fromHex(from.text("gid", 32), out.gid))
    throw Failure("ERR_RDMC_INVALID_ADDRESS", "The address has no valid gid");
  const IbvPortState here = port_.now();
  const std::string layer = from.text("linkLayer", 32);
  if (layer != linkLayerName(here.attributes.link_layer)) {
    throw Failure("ERR_RDMC_CONNECT_FAILED", std::string("The peer's link layer is ") + layer + ", ours " +
                                                 linkLayerName(here.attributes.link_layer) +
                                                 ": choose ports of one network at both sides");
  }
  if (const std::string type = from.text("gidType", 32); type != here.gidType) {
    throw Failure("ERR_RDMC_CONNECT_FAILED", "The peer's GID is of type " + type + ", ours of type " + here.gidType +
                                                 ": choose GID indices of one type at both sides (see rdmc devices; "
                                                 "RDMC_GID_INDEX)");
  }
  if (!here.ethernet()) out.lid = uint32_t(from.number("lid", 0xffff));
  return out;
}

void IbvConnector::connect(const std::shared_ptr<IbvQueuePair>& qp, const AddressFields& remote,
                           const ConnectParameters& parameters, ConnectCallback done) {
  const RemoteEnd end = readRemote(remote);
  if (qp->state != kInit || qp->connecting.exchange(true)) {
    throw Failure("ERR_RDMC_QUEUE_PAIR_STATE", "The queue pair is connected, or connecting, already");
  }
  ++underWay_;
  Rollback free([&] {
    --underWay_;
    qp->connecting = false;
  });
  const bool posted = workers_.post([this, qp, end, parameters, done = std::move(done)] {
    const auto failure = attempt(*qp, end, parameters);
    --underWay_;
    done(failure.get());
  });
  if (posted) return free.dismiss();
  throw Failure("ERR_RDMC_DEVICE_CLOSED", "The device is closed");
}

std::unique_ptr<Failure> IbvConnector::attempt(IbvQueuePair& qp, const RemoteEnd& end,
                                               const ConnectParameters& parameters) {
  std::unique_ptr<Failure> failure;
  std::shared_lock gate(context_.gate);
  try {
    context_.checkOpen();
    establish(qp, end, parameters);
    context_.checkOpen();  // still
  } catch (const std::exception&) {
    failure = std::make_unique<Failure>(caughtFailure());
  }
  qp.connecting = false;
  if (qp.closed) {
    queuePairs_.destroyHardware(qp);
  } else if (qp.state == kError) {
    errors_.breakOff(qp);  // broken meanwhile: the connect's state change must not come last
  }
  return failure;
}

// To ready-to-receive. Returns an errno.
int IbvConnector::toReceiving(ibv_qp* qp, const RemoteEnd& remote, const IbvPortState& here, uint32_t mtu,
                              const ConnectParameters& parameters) const {
  const IbvOptions& options = context_.options();
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = ibv_mtu(mtuOf(mtu));
  to.dest_qp_num = remote.queuePair;
  to.rq_psn = remote.packetNumber;
  to.max_dest_rd_atomic = uint8_t(std::min<uint32_t>(uint32_t(context_.attributes().max_qp_rd_atom), kMaxReads));
  to.min_rnr_timer = rnrTimerCode(parameters.rnrTimerMs);
  to.ah_attr.port_num = uint8_t(options.port);
  to.ah_attr.dlid = uint16_t(remote.lid);
  to.ah_attr.sl = uint8_t(parameters.serviceLevel);
  // RoCE is addressed by GID; so is InfiniBand across subnets, whose GIDs begin differently.
  const bool sameSubnet = std::memcmp(remote.gid.data(), here.gid.data(), 8) == 0;
  if (here.ethernet() || !sameSubnet) {
    to.ah_attr.is_global = 1;
    std::memcpy(to.ah_attr.grh.dgid.raw, remote.gid.data(), remote.gid.size());
    to.ah_attr.grh.sgid_index = uint8_t(options.gidIndex);
    to.ah_attr.grh.hop_limit = kHopLimit;
    to.ah_attr.grh.traffic_class = uint8_t(parameters.trafficClass);
  }
  return context_.library().modify_qp(qp, &to,
                                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

// From there to ready-to-send. Returns an errno.
int IbvConnector::toSending(ibv_qp* qp, uint32_t packetNumber, uint32_t remoteReads,
                            const ConnectParameters& parameters) const {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTS;
  to.timeout = timeoutExponent(parameters.retryTimeoutMs);
  to.retry_cnt = kRetries;
  to.rnr_retry = uint8_t(parameters.rnrRetries);
  to.sq_psn = packetNumber;
  to.max_rd_atomic = uint8_t(std::min({uint32_t(context_.attributes().max_qp_init_rd_atom), remoteReads, kMaxReads}));
  return context_.library().modify_qp(
      qp, &to,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void IbvConnector::establish(IbvQueuePair& qp, const RemoteEnd& remote, const ConnectParameters& parameters) {
  std::lock_guard control(qp.control);
  // Not under `posting`: resolving the address may take a second. `control` keeps it from being destroyed meanwhile.
  ibv_qp* mine = qp.qp;
  if (!mine || qp.closed) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed");
  const IbvPortState here = port_.now();
  const uint32_t asked = context_.options().pathMtuBytes;
  const uint32_t mtu = std::min(asked ? asked : mtuBytes(here.attributes.active_mtu), remote.mtuBytes);
  int error = toReceiving(mine, remote, here, mtu, parameters);
  if (error == 0) error = toSending(mine, qp.packetNumber, remote.reads, parameters);
  if (error != 0) {
    if (context_.removed || error == EIO || error == ENODEV) {
      throw context_.refusal("ibv_modify_qp", "Connecting", error);
    }
    throw Failure("ERR_RDMC_CONNECT_FAILED",
                  context_.name() + " cannot reach " + gidText(remote.gid) + " from " + gidText(here.gid) + ": " +
                      errorText(error) +
                      (error == ETIMEDOUT ? ": nobody answers at that address; see that both are in one network"
                                          : "; see that both sides use a GID of the same type (rdmc devices)"),
                  error, "ibv_modify_qp");
  }
  qp.pathMtu = mtu;
  QpState expected = kInit;
  qp.state.compare_exchange_strong(expected, kRts);
}

std::string IbvConnector::transport(const IbvQueuePair& qp) const {
  if (qp.pathMtu == 0) return "";
  return port_.now().ethernet() ? "roce" : "infiniband";
}

}  // namespace rdmc

#endif
