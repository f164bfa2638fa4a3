#include "ibv/limits.h"

#if RDMC_WITH_IBVERBS

#include <algorithm>
#include <cerrno>

#include "core/constants.h"
#include "core/limits.h"

namespace rdmc {
namespace {

constexpr int kProbeCqDepth = 16;
constexpr uint32_t kInlineSizes[] = {kMaxInlineBytes, 128, 64, 32};

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
  // Whether such a queue pair can be created; `cap` is then what was granted.
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

// The attributes do not tell how much can be sent inline, and max_qp_wr holds for the smallest requests only: mlx5
// grants fewer with more entries each. So queue pairs are created to find out.
void probeQueues(const IbvContext& context, IbvLimits& limits) {
  Probe probe(context.library(), context.hardware());
  ibv_qp_cap cap{};
  bool made = false;
  for (const uint32_t wanted : kInlineSizes) {
    cap = {1, 1, limits.maxSge, limits.maxSge, wanted};
    made = probe.grants(cap);
    if (!made) continue;
    limits.maxInlineBytes = std::min(cap.max_inline_data, wanted);
    break;
  }
  if (!made) {
    throw Failure("ERR_RDMC_UNSUPPORTED",
                  context.name() + " makes no reliable-connection queue pair: " + errorText(probe.error()),
                  probe.error(), "ibv_create_qp");
  }
  limits.ordersWrites = probe.ordersWrites();
  const uint32_t most = std::min(uint32_t(context.attributes().max_qp_wr), limits.maxCompletionQueueDepth);
  const auto deepest = [&](uint32_t ibv_qp_cap::*depth) {
    for (uint32_t wanted = most; wanted > 1; wanted /= 2) {
      cap = {1, 1, limits.maxSge, limits.maxSge, limits.maxInlineBytes};
      cap.*depth = wanted;
      if (probe.grants(cap)) return wanted;
    }
    return 1u;
  };
  // rdma_rxe grants every depth, and takes time and memory for it.
  const bool plain = context.isSoftRoce();
  limits.maxSendDepth = plain ? most : deepest(&ibv_qp_cap::max_send_wr);
  // One is reserved for the receive that shows when a broken queue is empty.
  limits.maxReceiveDepth = (plain ? most : deepest(&ibv_qp_cap::max_recv_wr)) - 1;
}

}  // namespace

IbvLimits readLimits(const IbvContext& context, const ibv_port_attr& port) {
  const ibv_device_attr& from = context.attributes();
  IbvLimits limits{};
  limits.maxQueuePairs = std::min<uint32_t>(uint32_t(from.max_qp), kMaxQps - 1);
  limits.maxCompletionQueues = uint32_t(from.max_cq);
  limits.maxCompletionQueueDepth = uint32_t(from.max_cqe);
  limits.maxSge = std::min<uint32_t>(uint32_t(from.max_sge), kMaxSge);
  limits.maxRegions = std::min<uint32_t>(uint32_t(from.max_mr), kMaxRegions - 1);
  limits.maxSharedReceiveDepth = from.max_srq > 0 ? uint32_t(from.max_srq_wr) : 0;
  limits.maxMessageBytes = std::min<uint64_t>(port.max_msg_sz ? port.max_msg_sz : kMaxMessageBytes, kMaxMessageBytes);
  limits.atomics = from.atomic_cap != IBV_ATOMIC_NONE;
  probeQueues(context, limits);
  return limits;
}

}  // namespace rdmc

#endif
