#include "ibv/queue_pairs.h"

#if RDMC_WITH_IBVERBS

#include <sys/random.h>

#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "ibv/names.h"

namespace rdmc {
namespace {

constexpr uint32_t kPacketNumberMask = (1u << 24) - 1;

uint32_t randomPacketNumber() {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != ssize_t(sizeof number)) {
    throw systemFailure("getrandom", "Choosing a packet sequence number", errno);
  }
  return number & kPacketNumberMask;
}

}  // namespace

// From here on the objects that the queue pair needs cannot be destroyed.
void IbvQueuePairs::takeParts(IbvQueuePair& qp) {
  const QueuePairParameters& from = qp.parameters;
  parts_.domains.use(from.pd);
  Rollback domain([&] { parts_.domains.leave(from.pd); });
  qp.sendCq = parts_.completionQueues.use(from.sendCq);
  Rollback sends([&] { parts_.completionQueues.leave(*qp.sendCq); });
  qp.receiveCq = parts_.completionQueues.use(from.receiveCq);
  Rollback receives([&] { parts_.completionQueues.leave(*qp.receiveCq); });
  if (from.sharedReceiveQueue != 0) qp.shared = parts_.shared.use(from.sharedReceiveQueue);
  receives.dismiss();
  sends.dismiss();
  domain.dismiss();
}

void IbvQueuePairs::leaveParts(IbvQueuePair& qp) {
  parts_.domains.leave(qp.parameters.pd);
  parts_.completionQueues.leave(*qp.sendCq);
  parts_.completionQueues.leave(*qp.receiveCq);
  if (qp.shared) parts_.shared.leave(*qp.shared);
  errors_.takeReached(qp.number);
}

uint32_t IbvQueuePairs::create(const QueuePairParameters& parameters) {
  std::shared_lock gate(context_.gate);
  context_.checkOpen();
  auto made = std::make_shared<IbvQueuePair>(table_.takeNumber(), parameters);
  Rollback number([&] { table_.giveNumberBack(made->number); });
  made->packetNumber = randomPacketNumber();
  takeParts(*made);
  Rollback parts([&] { leaveParts(*made); });
  reserveCompletions(*made);
  Rollback room([&] { giveCompletionsBack(*made); });
  createHardware(*made);
  room.dismiss();
  parts.dismiss();
  number.dismiss();
  table_.add(made);
  return made->number;
}

void IbvQueuePairs::reserveCompletions(IbvQueuePair& qp) {
  qp.sendCq->reserve(qp.parameters.sendDepth);
  Rollback sends([&] { qp.sendCq->giveBack(qp.parameters.sendDepth); });
  if (qp.shared) {
    qp.receiveCq->reserveShared(qp.shared->number, uint32_t(qp.shared->records.size()));
  } else {
    qp.receiveCq->reserve(qp.parameters.receiveDepth + 1);
  }
  sends.dismiss();
}

void IbvQueuePairs::giveCompletionsBack(IbvQueuePair& qp) {
  qp.sendCq->giveBack(qp.parameters.sendDepth);
  if (qp.shared) {
    qp.receiveCq->giveBackShared(qp.shared->number, uint32_t(qp.shared->records.size()));
  } else {
    qp.receiveCq->giveBack(qp.parameters.receiveDepth + 1);
  }
}

void IbvQueuePairs::createHardware(IbvQueuePair& qp) {
  const uint32_t receives = qp.shared ? 0 : qp.parameters.receiveDepth + 1;
  ibv_qp_init_attr initial{};
  initial.qp_context = reinterpret_cast<void*>(uintptr_t(qp.number));
  initial.send_cq = qp.sendCq->hardware();
  initial.recv_cq = qp.receiveCq->hardware();
  initial.srq = qp.shared ? qp.shared->srq : nullptr;
  initial.qp_type = IBV_QPT_RC;
  initial.cap = {qp.parameters.sendDepth, receives, limits_.maxSge, limits_.maxSge, limits_.maxInlineBytes};
  qp.qp = context_.library().create_qp(parts_.domains.at(qp.parameters.pd), &initial);
  int error = errno;
  if (qp.qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = uint8_t(context_.options().port);
    // What a peer may do is decided region by region.
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | (limits_.atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
    error = context_.library().modify_qp(qp.qp, &attributes,
                                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error == 0) return;
    context_.library().destroy_qp(std::exchange(qp.qp, nullptr));
  }
  throw context_.refusal("ibv_create_qp",
                         "Creating a queue pair with " + std::to_string(qp.parameters.sendDepth) + " send and " +
                             std::to_string(qp.parameters.receiveDepth) + " receive requests",
                         error);
}

void IbvQueuePairs::destroy(uint32_t number) {
  std::shared_lock gate(context_.gate);
  const auto found = table_.at(number);
  table_.remove(*found);
  found->state = kError;
  found->closed = true;
  // A connect under way may block for a second: its thread destroys the queue pair then. Nothing was sent yet.
  if (!found->connecting) destroyHardware(*found);
}

void IbvQueuePairs::destroyHardware(IbvQueuePair& qp) {
  std::lock_guard control(qp.control);
  {
    std::lock_guard guard(qp.posting);
    if (std::exchange(qp.released, true)) return;
  }
  if (qp.shared) {
    errors_.toError(qp);
    errors_.awaitEnd(qp);
  }
  errors_.takeAway(qp);
  errors_.destroyLost(qp);
  // Its completions must not stay in the queues until the next poll.
  qp.sendCq->absorb();
  qp.receiveCq->absorb();
  qp.sendCq->purge(qp.number);
  qp.receiveCq->purge(qp.number);
  qp.sends.clear([](const RequestRecord&) {});
  qp.receives.clear([](const RequestRecord&) {});
  giveCompletionsBack(qp);
  leaveParts(qp);
  table_.giveNumberBack(qp.number);
}

// ---- questions

QpState IbvQueuePairs::state(uint32_t number) {
  std::shared_lock gate(context_.gate);
  const auto found = table_.at(number);
  if (found->state != kRts) return found->state;
  std::lock_guard guard(found->posting);
  if (!found->qp) return kError;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  const int error = context_.library().query_qp(found->qp, &attributes, IBV_QP_STATE, &initial);
  const bool broken = error != 0 || attributes.qp_state == IBV_QPS_ERR || attributes.qp_state == IBV_QPS_SQE;
  if (broken) found->state = kError;
  return found->state;
}

NamedNumbers IbvQueuePairs::attributes(uint32_t number) {
  std::shared_lock gate(context_.gate);
  const auto found = table_.at(number);
  ibv_qp_attr now{};
  ibv_qp_init_attr initial{};
  std::lock_guard guard(found->posting);
  if (!found->qp) return {{"state", kError}};
  const int wanted = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
                     IBV_QP_MIN_RNR_TIMER | IBV_QP_DEST_QPN | IBV_QP_CAP | IBV_QP_AV;
  if (const int error = context_.library().query_qp(found->qp, &now, wanted, &initial); error != 0) {
    throw context_.refusal("ibv_query_qp", "Reading a queue pair's attributes", error);
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
          {"trafficClass", now.ah_attr.grh.traffic_class},
          {"serviceLevel", now.ah_attr.sl},
          {"readsInFlight", now.max_rd_atomic},
          {"readsServed", now.max_dest_rd_atomic},
          {"sendDepth", initial.cap.max_send_wr},
          {"receiveDepth", initial.cap.max_recv_wr},
          {"maxInlineBytes", initial.cap.max_inline_data}};
}

bool IbvQueuePairs::dataInOrder(uint32_t number) {
  std::shared_lock gate(context_.gate);
  const auto found = table_.at(number);
  if (!context_.library().query_qp_data_in_order) return false;
  std::lock_guard guard(found->posting);
  return found->qp && context_.library().query_qp_data_in_order(found->qp, IBV_WR_RDMA_WRITE, 0) == 1;
}

}  // namespace rdmc

#endif
