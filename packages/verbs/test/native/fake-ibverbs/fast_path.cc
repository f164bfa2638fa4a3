// The provider's functions that the header's inline functions call.
#include <cerrno>

#include "fake.h"

namespace fake {
namespace {

// The measuring provider: what remains is a ring of ids.
struct Sink {
  static constexpr uint32_t kSlots = 65536;
  uint64_t ids[kSlots];
  uint32_t added, removed;
};
Sink sunk;

int sinkSend(ibv_send_wr* request) {
  for (; request; request = request->next) {
    if (request->send_flags & IBV_SEND_SIGNALED) sunk.ids[sunk.added++ % Sink::kSlots] = request->wr_id;
  }
  return 0;
}

int sinkPoll(int count, ibv_wc* out) {
  int taken = 0;
  for (; taken < count && sunk.removed != sunk.added; ++taken) {
    ibv_wc& wc = out[taken];
    wc.wr_id = sunk.ids[sunk.removed++ % Sink::kSlots];
    wc.status = IBV_WC_SUCCESS;
    wc.opcode = IBV_WC_RDMA_WRITE;
    wc.byte_len = 0;
    wc.qp_num = 0;
    wc.wc_flags = 0;
  }
  return taken;
}

Receive copyOf(const ibv_recv_wr& request) {
  return {request.wr_id, {request.sg_list, request.sg_list + request.num_sge}};
}

Send copyOf(const ibv_send_wr& request) {
  Send send{request, {}, {}};
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& entry = request.sg_list[i];
    if (entry.length == 0) misuse("an entry of length 0, which some devices take for 2^31");
    if (request.send_flags & IBV_SEND_INLINE) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(entry.addr);
      send.inlined.insert(send.inlined.end(), bytes, bytes + entry.length);
    } else {
      send.entries.push_back(entry);
    }
  }
  return send;
}

}  // namespace

int pollCq(ibv_cq* base, int count, ibv_wc* out) {
  if (sink()) return sinkPoll(count, out);
  std::lock_guard guard(world().mutex);
  Cq& cq = cqOf(base);
  int taken = 0;
  for (; taken < count && !cq.ring.empty(); ++taken) {
    out[taken] = cq.ring.front();
    cq.ring.pop_front();
  }
  return taken;
}

int armCq(ibv_cq* base, int solicitedOnly) {
  std::lock_guard guard(world().mutex);
  cqOf(base).armed = solicitedOnly ? 2 : 1;
  return 0;
}

int postSend(ibv_qp* base, ibv_send_wr* request, ibv_send_wr** bad) {
  if (sink()) return sinkSend(request);
  std::lock_guard guard(world().mutex);
  auto* qp = reinterpret_cast<Qp*>(base);
  for (; request; request = request->next) {
    *bad = request;
    if (base->state != IBV_QPS_RTS && base->state != IBV_QPS_ERR) return EINVAL;
    if (qp->sends.size() >= qp->cap.max_send_wr) return ENOMEM;
    if (request->num_sge > int(qp->cap.max_send_sge)) return EINVAL;
    qp->sends.push_back(copyOf(*request));
  }
  // Decided here, not in the thread that moves requests: that thread may run only after the port went down.
  if (portMoves(*qp)) qp->underWay = qp->sends.size();
  // What is posted to a broken queue pair waits until the driver looks at it again, as on some devices.
  poke();
  return 0;
}

int postReceive(ibv_qp* base, ibv_recv_wr* request, ibv_recv_wr** bad) {
  std::lock_guard guard(world().mutex);
  auto* qp = reinterpret_cast<Qp*>(base);
  for (; request; request = request->next) {
    *bad = request;
    if (base->state == IBV_QPS_RESET || (base->state == IBV_QPS_ERR && limit("late", 1) == 0)) return EINVAL;
    if (qp->receives.size() >= qp->cap.max_recv_wr) return ENOMEM;
    qp->receives.push_back(copyOf(*request));
  }
  poke();
  return 0;
}

int postShared(ibv_srq* base, ibv_recv_wr* request, ibv_recv_wr** bad) {
  std::lock_guard guard(world().mutex);
  auto* srq = reinterpret_cast<Srq*>(base);
  for (; request; request = request->next) {
    *bad = request;
    if (srq->ring.size() >= srq->depth) return ENOMEM;
    srq->ring.push_back(copyOf(*request));
  }
  poke();
  return 0;
}

}  // namespace fake
