// Queue pairs of an RDMA device from creation to destruction.
#include "ibv_device.h"

#if RDMC_WITH_IBVERBS

#include <sys/random.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "ibv_names.h"

namespace rdmc {
namespace {

constexpr uint32_t kGenerations = 1u << (31 - kQpIndexBits);
constexpr uint32_t kPacketNumberMask = (1u << 24) - 1;
// Longest wait for the last receive of a broken queue pair: far beyond what any device takes.
constexpr int64_t kDrainLimitNs = 2'000'000'000;
constexpr int64_t kLastSharedLimitNs = 200'000'000;
constexpr long kNapNs = 20'000;

int64_t nowNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void nap() {
  const timespec time{0, kNapNs};
  ::nanosleep(&time, nullptr);
}

uint32_t randomPacketNumber() {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != ssize_t(sizeof number)) {
    throw systemFailure("getrandom", "Choosing a packet sequence number", errno);
  }
  return number & kPacketNumberMask;
}

}  // namespace

Failure IbvDevice::refusal(const char* call, const std::string& what, int error) const {
  if (removed_ || error == EIO || error == ENODEV) {
    return Failure("ERR_RDMC_DEVICE_REMOVED", what + ": " + options_.device + " is gone", error, call);
  }
  if (error == ENOMEM || error == EINVAL || error == ENOSPC) {
    return Failure("ERR_RDMC_DEVICE_LIMIT",
                   what + " is more than " + options_.device + " has room for: " + std::strerror(error) +
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

uint32_t IbvDevice::createQueuePair(const QueuePairParameters& parameters) {
  std::shared_lock gate(gate_);
  checkOpen();
  uint32_t number = 0;
  {
    std::lock_guard guard(tableLock_);
    for (uint32_t i = 1; i <= limits_.maxQueuePairs && number == 0; ++i) {
      if (qps_[i]) continue;
      qpGeneration_[i] = (qpGeneration_[i] + 1) % kGenerations;
      number = i | qpGeneration_[i] << kQpIndexBits;
    }
  }
  if (number == 0) {
    throw Failure("ERR_RDMC_DEVICE_LIMIT",
                  "The device has " + std::to_string(limits_.maxQueuePairs) + " queue pairs already");
  }
  auto made = std::make_shared<IbvQueuePair>(number, parameters);
  made->packetNumber = randomPacketNumber();
  made->sendCq = completionQueue(parameters.sendCq);
  made->receiveCq = completionQueue(parameters.receiveCq);
  if (parameters.sharedReceiveQueue != 0) made->shared = sharedQueue(parameters.sharedReceiveQueue);
  createHardware(*made);
  std::lock_guard guard(tableLock_);
  qps_[number & (kMaxQps - 1)] = made;
  byHardwareNumber_[made->qp->qp_num] = number;
  return number;
}

void IbvDevice::createHardware(IbvQueuePair& qp) {
  const uint32_t receives = qp.shared ? uint32_t(qp.shared->records.size()) : qp.parameters.receiveDepth + 1;
  qp.sendCq->reserve(qp.parameters.sendDepth);
  try {
    qp.receiveCq->reserve(receives);
  } catch (const Failure&) {
    qp.sendCq->giveBack(qp.parameters.sendDepth);
    throw;
  }
  ibv_qp_init_attr initial{};
  initial.qp_context = reinterpret_cast<void*>(uintptr_t(qp.number));
  initial.send_cq = qp.sendCq->hardware();
  initial.recv_cq = qp.receiveCq->hardware();
  initial.srq = qp.shared ? qp.shared->srq : nullptr;
  initial.qp_type = IBV_QPT_RC;
  initial.cap = {qp.parameters.sendDepth, qp.shared ? 0 : receives, limits_.maxSge, limits_.maxSge,
                 limits_.maxInlineBytes};
  qp.qp = library_->create_qp(pd(qp.parameters.pd), &initial);
  int error = errno;
  if (qp.qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = uint8_t(options_.port);
    // What a peer may do is decided region by region.
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                 (limits_.atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
    error = library_->modify_qp(qp.qp, &attributes,
                                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error == 0) {
      ++qp.sendCq->users;
      ++qp.receiveCq->users;
      if (qp.shared) ++qp.shared->users;
      return;
    }
    library_->destroy_qp(std::exchange(qp.qp, nullptr));
  }
  qp.sendCq->giveBack(qp.parameters.sendDepth);
  qp.receiveCq->giveBack(receives);
  throw refusal("ibv_create_qp",
                "Creating a queue pair with " + std::to_string(qp.parameters.sendDepth) + " send and " +
                    std::to_string(qp.parameters.receiveDepth) + " receive requests",
                error);
}

void IbvDevice::destroyQp(uint32_t number) {
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
  ibv_qp* mine;
  {
    std::lock_guard guard(qp.posting);
    if (std::exchange(qp.released, true)) return;
    mine = std::exchange(qp.qp, nullptr);  // nullptr already where the device was removed
  }
  if (mine) {
    if (qp.shared) awaitLastShared(qp, mine);
    {
      std::lock_guard guard(tableLock_);
      byHardwareNumber_.erase(mine->qp_num);
    }
    library_->destroy_qp(mine);
  }
  // Nothing of it may fill the queues until somebody polls.
  qp.sendCq->absorb();
  qp.receiveCq->absorb();
  qp.sendCq->purge(qp.number);
  qp.receiveCq->purge(qp.number);
  qp.sends.clear([](const RequestRecord&) {});
  qp.receives.clear([](const RequestRecord&) {});
  qp.sendCq->giveBack(qp.parameters.sendDepth);
  qp.receiveCq->giveBack(qp.shared ? uint32_t(qp.shared->records.size()) : qp.parameters.receiveDepth + 1);
  if (qp.shared) --qp.shared->users;
  --qp.sendCq->users;
  --qp.receiveCq->users;
}

// What it took from the shared queue must come back before it goes (IBA 10.2.9.2). Not every driver says when.
void IbvDevice::awaitLastShared(IbvQueuePair& qp, ibv_qp* hardware) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  library_->modify_qp(hardware, &attributes, IBV_QP_STATE);
  const int64_t limit = nowNs() + kLastSharedLimitNs;
  for (bool reached = false; !reached && !removed_ && nowNs() < limit; nap()) {
    std::lock_guard guard(objects_);
    reached = lastReached_.erase(qp.number) > 0;
  }
}

// ---- states

void IbvDevice::kick(IbvQueuePair& qp) {
  std::lock_guard guard(qp.posting);
  if (!qp.qp || removed_) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  library_->modify_qp(qp.qp, &attributes, IBV_QP_STATE);
}

void IbvDevice::toError(IbvQueuePair& qp) {
  qp.state = kError;
  kick(qp);
}

void IbvDevice::failQueuePair(uint32_t number) {
  std::shared_lock gate(gate_);
  const auto found = qpAt(number);
  toError(*found);
  if (!found->shared) drainReceives(*found);
}

// The device flushes receives in order, after what it was in the middle of: when a last one comes back, no byte
// changes any more.
void IbvDevice::drainReceives(IbvQueuePair& qp) {
  {
    std::lock_guard guard(qp.posting);
    if (!qp.qp || removed_ || qp.draining) return;
    qp.draining = true;
    ibv_recv_wr request{};
    ibv_recv_wr* bad;
    request.wr_id = hardwareId(qp.number, RequestKind::kDrain, 0);
    if (ibv_post_recv(qp.qp, &request, &bad) != 0) return;
  }
  kick(qp);
  const int64_t limit = nowNs() + kDrainLimitNs;
  for (;;) {
    qp.receiveCq->absorb();
    if (qp.drained || removed_ || nowNs() > limit) return;
    nap();
  }
}

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
  return port_.link_layer == IBV_LINK_LAYER_ETHERNET ? "roce" : "infiniband";
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

// ---- shared receive queues

uint32_t IbvDevice::createSharedReceiveQueue(uint32_t pdIndex, uint32_t depth) {
  std::shared_lock gate(gate_);
  checkOpen();
  if (depth == 0 || depth > limits_.maxSharedReceiveDepth) {
    throw Failure("ERR_RDMC_DEVICE_LIMIT", "A shared receive queue of " + options_.device + " holds 1 to " +
                                               std::to_string(limits_.maxSharedReceiveDepth) + " requests, not " +
                                               std::to_string(depth));
  }
  ibv_srq_init_attr initial{};
  initial.attr.max_wr = depth;
  initial.attr.max_sge = limits_.maxSge;
  ibv_srq* made = library_->create_srq(pd(pdIndex), &initial);
  if (!made) {
    throw refusal("ibv_create_srq", "Creating a shared receive queue of " + std::to_string(depth) + " requests", errno);
  }
  std::lock_guard guard(objects_);
  const uint32_t number = kSharedNumber | uint32_t(shared_.size());
  shared_.push_back(std::make_shared<IbvSharedReceiveQueue>(number, pdIndex, depth));
  shared_.back()->srq = made;
  return number;
}

std::shared_ptr<IbvSharedReceiveQueue> IbvDevice::findShared(uint32_t number) {
  std::lock_guard guard(objects_);
  const uint32_t index = number & ~kSharedNumber;
  return (number & kSharedNumber) && index < shared_.size() ? shared_[index] : nullptr;
}

std::shared_ptr<IbvSharedReceiveQueue> IbvDevice::sharedQueue(uint32_t number) {
  auto found = findShared(number);
  if (!found) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The shared receive queue is closed");
  return found;
}

void IbvDevice::destroySharedReceiveQueue(uint32_t number) {
  std::shared_lock gate(gate_);
  const auto found = sharedQueue(number);
  if (found->users > 0) {
    throw Failure("ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY", "Queue pairs still use the shared receive queue: close them first");
  }
  {
    std::lock_guard guard(found->lock);
    if (ibv_srq* mine = std::exchange(found->srq, nullptr)) library_->destroy_srq(mine);
    found->dropAll();
  }
  std::lock_guard guard(objects_);
  shared_[number & ~kSharedNumber].reset();
}

}  // namespace rdmc

#endif
