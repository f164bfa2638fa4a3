// Queue pairs of an RDMA device from creation to destruction.
#include "ibv/device.h"

#if RDMC_WITH_IBVERBS

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "ibv/names.h"

namespace rdmc {
namespace {

constexpr uint32_t kGenerations = 1u << (31 - kQpIndexBits);
constexpr uint32_t kPacketNumberMask = (1u << 24) - 1;

uint32_t randomPacketNumber() {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != ssize_t(sizeof number)) {
    throw systemFailure("getrandom", "Choosing a packet sequence number", errno);
  }
  return number & kPacketNumberMask;
}

}  // namespace

Failure IbvDevice::refusal(const char* call, const std::string& what, int error) const {
  if (removed_ || error == ENODEV || (error == EIO && !stillThere())) {
    return Failure("ERR_RDMC_DEVICE_REMOVED", what + ": " + options_.device + " is gone", error, call);
  }
  if (error == EIO) {
    return Failure("ERR_RDMC_DEVICE_FAILED",
                   what + ": " + options_.device +
                       " reports an error of its own (EIO); see the kernel's log, and open "
                       "it again",
                   error, call);
  }
  if (error == EOPNOTSUPP) {
    return Failure("ERR_RDMC_UNSUPPORTED", what + ": the driver of " + options_.device + " cannot do that", error,
                   call);
  }
  if (error == ENOMEM || error == EINVAL || error == ENOSPC) {
    return Failure("ERR_RDMC_DEVICE_LIMIT",
                   what + " is more than " + options_.device + " has room for: " + errorText(error) +
                       "; close what is not needed, or ask for less",
                   error, call);
  }
  return systemFailure(call, what, error);
}

void IbvDevice::checkOpen() const {
  if (removed_) throw Failure("ERR_RDMC_DEVICE_REMOVED", options_.device + " is gone: close the device");
  if (closed_ || !context_) throw Failure("ERR_RDMC_DEVICE_CLOSED", "The device is closed");
}

NamedNumbers IbvDevice::counterValues() {
  return {{"requests", double(counters_.requests)},
          {"doorbells", double(counters_.doorbells)},
          {"completions", double(counters_.completions)},
          {"mappedBytes", double(pool_->mappedBytes())}};
}

std::shared_ptr<IbvQueuePair> IbvDevice::qp(uint32_t number) {
  std::lock_guard guard(tableLock_);
  const auto& found = qps_[number & (kMaxQps - 1)];
  return found && found->number == number ? found : nullptr;
}

std::shared_ptr<IbvQueuePair> IbvDevice::qpAt(uint32_t number) {
  auto found = qp(number);
  if (!found) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed");
  return found;
}

std::vector<std::shared_ptr<IbvQueuePair>> IbvDevice::allQueuePairs() {
  std::vector<std::shared_ptr<IbvQueuePair>> all;
  std::lock_guard guard(tableLock_);
  for (const auto& each : qps_) {
    if (each) all.push_back(each);
  }
  return all;
}

uint32_t IbvDevice::takeNumber() {
  std::lock_guard guard(tableLock_);
  for (uint32_t i = 1; i <= limits_.maxQueuePairs; ++i) {
    if (qpTaken_[i]) continue;
    qpTaken_[i] = true;
    qpGeneration_[i] = (qpGeneration_[i] + 1) % kGenerations;
    return i | qpGeneration_[i] << kQpIndexBits;
  }
  throw Failure("ERR_RDMC_DEVICE_LIMIT",
                "The device has " + std::to_string(limits_.maxQueuePairs) + " queue pairs already");
}

void IbvDevice::giveNumberBack(uint32_t number) {
  std::lock_guard guard(tableLock_);
  qpTaken_[number & (kMaxQps - 1)] = false;
}

// From here on nobody can destroy what the queue pair needs.
void IbvDevice::takeParts(IbvQueuePair& qp) {
  const QueuePairParameters& from = qp.parameters;
  std::lock_guard guard(objects_);
  if (from.pd >= pds_.size() || !pds_[from.pd].pd) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_CLOSED", "The protection domain is closed");
  }
  qp.sendCq = queueHere(from.sendCq);
  qp.receiveCq = queueHere(from.receiveCq);
  if (from.sharedReceiveQueue != 0) qp.shared = sharedHere(from.sharedReceiveQueue);
  ++pds_[from.pd].users;
  ++qp.sendCq->users;
  ++qp.receiveCq->users;
  if (qp.shared) ++qp.shared->users;
}

void IbvDevice::leaveParts(IbvQueuePair& qp) {
  std::lock_guard guard(objects_);
  --pds_[qp.parameters.pd].users;
  --qp.sendCq->users;
  --qp.receiveCq->users;
  if (qp.shared) --qp.shared->users;
  lastReached_.erase(qp.number);
}

uint32_t IbvDevice::createQueuePair(const QueuePairParameters& parameters) {
  std::shared_lock gate(gate_);
  checkOpen();
  auto made = std::make_shared<IbvQueuePair>(takeNumber(), parameters);
  Rollback number([&] { giveNumberBack(made->number); });
  made->packetNumber = randomPacketNumber();
  takeParts(*made);
  Rollback parts([&] { leaveParts(*made); });
  reserveCompletions(*made);
  Rollback room([&] { giveCompletionsBack(*made); });
  createHardware(*made);
  room.dismiss();
  parts.dismiss();
  number.dismiss();
  std::lock_guard guard(tableLock_);
  qps_[made->number & (kMaxQps - 1)] = made;
  byHardwareNumber_[made->qp->qp_num] = made->number;
  return made->number;
}

void IbvDevice::reserveCompletions(IbvQueuePair& qp) {
  qp.sendCq->reserve(qp.parameters.sendDepth);
  Rollback sends([&] { qp.sendCq->giveBack(qp.parameters.sendDepth); });
  if (qp.shared) {
    qp.receiveCq->reserveShared(qp.shared->number, uint32_t(qp.shared->records.size()));
  } else {
    qp.receiveCq->reserve(qp.parameters.receiveDepth + 1);
  }
  sends.dismiss();
}

void IbvDevice::giveCompletionsBack(IbvQueuePair& qp) {
  qp.sendCq->giveBack(qp.parameters.sendDepth);
  if (qp.shared) {
    qp.receiveCq->giveBackShared(qp.shared->number, uint32_t(qp.shared->records.size()));
  } else {
    qp.receiveCq->giveBack(qp.parameters.receiveDepth + 1);
  }
}

void IbvDevice::createHardware(IbvQueuePair& qp) {
  const uint32_t receives = qp.shared ? 0 : qp.parameters.receiveDepth + 1;
  ibv_qp_init_attr initial{};
  initial.qp_context = reinterpret_cast<void*>(uintptr_t(qp.number));
  initial.send_cq = qp.sendCq->hardware();
  initial.recv_cq = qp.receiveCq->hardware();
  initial.srq = qp.shared ? qp.shared->srq : nullptr;
  initial.qp_type = IBV_QPT_RC;
  initial.cap = {qp.parameters.sendDepth, receives, limits_.maxSge, limits_.maxSge, limits_.maxInlineBytes};
  qp.qp = library_->create_qp(pd(qp.parameters.pd), &initial);
  int error = errno;
  if (qp.qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = uint8_t(options_.port);
    // What a peer may do is decided region by region.
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | (limits_.atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
    error =
        library_->modify_qp(qp.qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error == 0) return;
    library_->destroy_qp(std::exchange(qp.qp, nullptr));
  }
  throw refusal("ibv_create_qp",
                "Creating a queue pair with " + std::to_string(qp.parameters.sendDepth) + " send and " +
                    std::to_string(qp.parameters.receiveDepth) + " receive requests",
                error);
}

void IbvDevice::destroyQueuePair(uint32_t number) {
  std::shared_lock gate(gate_);
  const auto found = qpAt(number);
  {
    std::lock_guard guard(tableLock_);
    if (qps_[number & (kMaxQps - 1)] != found) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed");
    qps_[number & (kMaxQps - 1)].reset();
  }
  found->state = kError;
  found->closed = true;
  // A connect on its way may block for a second: who makes it destroys the queue pair then. Nothing was sent yet.
  if (!found->connecting) destroyHardware(found);
}

void IbvDevice::destroyHardware(const std::shared_ptr<IbvQueuePair>& found) {
  IbvQueuePair& qp = *found;
  std::lock_guard control(qp.control);
  {
    std::lock_guard guard(qp.posting);
    if (std::exchange(qp.released, true)) return;
  }
  if (qp.shared) {
    toError(qp);
    awaitEnd(qp);
  }
  takeAway(qp);
  destroyLost(qp);
  // Nothing of it may fill the queues until somebody polls.
  qp.sendCq->absorb();
  qp.receiveCq->absorb();
  qp.sendCq->purge(qp.number);
  qp.receiveCq->purge(qp.number);
  qp.sends.clear([](const RequestRecord&) {});
  qp.receives.clear([](const RequestRecord&) {});
  giveCompletionsBack(qp);
  leaveParts(qp);
  giveNumberBack(qp.number);
}

// ---- questions

QpState IbvDevice::stateOf(uint32_t number) {
  std::shared_lock gate(gate_);
  const auto found = qpAt(number);
  if (found->state != kRts) return found->state;
  std::lock_guard guard(found->posting);
  if (!found->qp) return kError;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  const int error = library_->query_qp(found->qp, &attributes, IBV_QP_STATE, &initial);
  const bool broken = error != 0 || attributes.qp_state == IBV_QPS_ERR || attributes.qp_state == IBV_QPS_SQE;
  if (broken) found->state = kError;
  return found->state;
}

std::string IbvDevice::transportOf(uint32_t number) {
  const auto found = qpAt(number);
  if (found->pathMtu == 0) return "";
  return port().attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "roce" : "infiniband";
}

NamedNumbers IbvDevice::attributesOf(uint32_t number) {
  std::shared_lock gate(gate_);
  const auto found = qpAt(number);
  ibv_qp_attr now{};
  ibv_qp_init_attr initial{};
  std::lock_guard guard(found->posting);
  if (!found->qp) return {{"state", kError}};
  const int wanted = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
                     IBV_QP_MIN_RNR_TIMER | IBV_QP_DEST_QPN | IBV_QP_CAP;
  if (const int error = library_->query_qp(found->qp, &now, wanted, &initial); error != 0) {
    throw refusal("ibv_query_qp", "Reading a queue pair's attributes", error);
  }
  return {{"state", now.qp_state},
          {"hardwareNumber", found->qp->qp_num},
          {"peerHardwareNumber", now.dest_qp_num},
          {"pathMtuBytes", mtuBytes(now.path_mtu)},
          {"sendPacketNumber", now.sq_psn},
          {"receivePacketNumber", now.rq_psn},
          {"timeoutExponent", now.timeout},
          {"retries", now.retry_cnt},
          {"rnrRetries", now.rnr_retry},
          {"rnrTimerCode", now.min_rnr_timer},
          {"readsInFlight", now.max_rd_atomic},
          {"readsServed", now.max_dest_rd_atomic},
          {"sendDepth", initial.cap.max_send_wr},
          {"receiveDepth", initial.cap.max_recv_wr},
          {"maxInlineBytes", initial.cap.max_inline_data}};
}

bool IbvDevice::dataInOrder(uint32_t number) {
  std::shared_lock gate(gate_);
  const auto found = qpAt(number);
  if (!library_->query_qp_data_in_order) return false;
  std::lock_guard guard(found->posting);
  return found->qp && library_->query_qp_data_in_order(found->qp, IBV_WR_RDMA_WRITE, 0) == 1;
}

}  // namespace rdmc

#endif
