// Protection domains, memory, channels, completion queues and queue pairs: making, changing and destroying them.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "fake.h"

using namespace fake;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{context, 0}; }

int ibv_dealloc_pd(ibv_pd* pd) {
  std::lock_guard guard(world().mutex);
  for (const auto& [key, mr] : world().byLocalKey) {
    if (mr->base.pd == pd) misuse("a protection domain was deallocated before its memory");
  }
  for (const auto& [number, qp] : world().qps) {
    if (qp->base.pd == pd) misuse("a protection domain was deallocated before its queue pairs");
  }
  delete pd;
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access) {
  if (const int error = std::stoi(setting("REG_ERRNO", "0")); error != 0) {
    errno = error;
    return nullptr;
  }
  if (reinterpret_cast<uint64_t>(address) != iova) misuse("only addresses of this process are known here");
  std::lock_guard guard(world().mutex);
  auto* mr = new Mr;
  mr->base.context = pd->context;
  mr->base.pd = pd;
  mr->base.addr = address;
  mr->base.length = length;
  // Different numbers, and neither small nor dense.
  mr->base.lkey = 0x5000 + (world().nextKey << 8);
  mr->base.rkey = 0x7000 + (world().nextKey++ << 8);
  mr->access = int(access);
  world().byLocalKey[mr->base.lkey] = mr;
  world().byRemoteKey[mr->base.rkey] = mr;
  return &mr->base;
}

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<uint64_t>(address), unsigned(access));
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
  errno = EOPNOTSUPP;
  return nullptr;
}

int ibv_dereg_mr(ibv_mr* base) {
  std::lock_guard guard(world().mutex);
  auto* mr = reinterpret_cast<Mr*>(base);
  // As a driver that refuses while a queue pair may be in the middle of it, or in spite of that.
  if (limit("dereg", 0) == 2) return EBUSY;
  if (limit("dereg", 0) != 0) {
    for (const auto& [number, qp] : world().qps) {
      if (qp->base.pd == base->pd && qp->base.state == IBV_QPS_RTS) return EBUSY;
    }
  }
  world().byLocalKey.erase(base->lkey);
  world().byRemoteKey.erase(base->rkey);
  delete mr;
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) return nullptr;
  auto* channel = new Channel;
  channel->base.context = context;
  channel->base.fd = pipe[0];
  channel->write = pipe[1];
  return &channel->base;
}

int ibv_destroy_comp_channel(ibv_comp_channel* base) {
  std::lock_guard guard(world().mutex);
  if (base->refcnt > 0) misuse("a completion channel was destroyed before its queues");
  auto* channel = reinterpret_cast<Channel*>(base);
  ::close(base->fd);
  ::close(channel->write);
  delete channel;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* cqContext, ibv_comp_channel* channel, int) {
  std::lock_guard guard(world().mutex);
  if (depth < 1 || depth > limit("cqe", 65536)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* cq = new Cq;
  cq->base.context = context;
  cq->base.cq_context = cqContext;
  cq->base.channel = channel;
  cq->base.cqe = depth;
  if (channel) ++channel->refcnt;
  return &cq->base;
}

int ibv_resize_cq(ibv_cq* base, int depth) {
  std::lock_guard guard(world().mutex);
  if (limit("resize", 1) == 0) return EOPNOTSUPP;
  if (depth > limit("cqe", 65536)) return EINVAL;
  base->cqe = depth;
  return 0;
}

int ibv_destroy_cq(ibv_cq* base) {
  std::lock_guard guard(world().mutex);
  for (const auto& [number, qp] : world().qps) {
    if (qp->base.send_cq == base || qp->base.recv_cq == base)
      misuse("a completion queue was destroyed before its queue pairs");
  }
  auto* cq = reinterpret_cast<Cq*>(base);
  if (cq->unacknowledged > 0) misuse("a completion queue was destroyed with events that nobody acknowledged");
  if (base->channel) --base->channel->refcnt;
  delete cq;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) {
  if (::read(channel->fd, cq, sizeof *cq) != ssize_t(sizeof *cq)) return -1;
  *context = (*cq)->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* base, unsigned count) {
  std::lock_guard guard(world().mutex);
  auto* cq = reinterpret_cast<Cq*>(base);
  if (count > cq->unacknowledged) misuse("an event was acknowledged twice");
  cq->unacknowledged -= count;
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* initial) {
  auto* srq = new Srq;
  srq->base.context = pd->context;
  srq->base.pd = pd;
  srq->depth = initial->attr.max_wr;
  return &srq->base;
}

int ibv_destroy_srq(ibv_srq* base) {
  std::lock_guard guard(world().mutex);
  for (const auto& [number, qp] : world().qps) {
    if (qp->base.srq == base) misuse("a shared receive queue was destroyed before its queue pairs");
  }
  delete reinterpret_cast<Srq*>(base);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* initial) {
  std::lock_guard guard(world().mutex);
  const ibv_qp_cap& cap = initial->cap;
  const long depth = limit("qp_wr", 4096);
  if (initial->qp_type != IBV_QPT_RC || cap.max_send_wr > depth || cap.max_recv_wr > depth ||
      cap.max_send_sge > limit("sge", 16) || cap.max_inline_data > limit("inline", 512)) {
    errno = EINVAL;
    return nullptr;
  }
  const auto bytes = [](uint32_t depth, uint32_t entries, uint32_t more) {
    return long(depth) * (entries * 16 + more);
  };
  const long room = limit("queue", std::numeric_limits<long>::max());
  if (bytes(cap.max_send_wr, cap.max_send_sge, cap.max_inline_data) > room ||
      bytes(cap.max_recv_wr, cap.max_recv_sge, 0) > room) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* qp = new Qp;
  qp->base.context = pd->context;
  qp->base.qp_context = initial->qp_context;
  qp->base.pd = pd;
  qp->base.send_cq = initial->send_cq;
  qp->base.recv_cq = initial->recv_cq;
  qp->base.srq = initial->srq;
  qp->base.qp_num = world().nextQp++;
  qp->base.state = IBV_QPS_RESET;
  qp->base.qp_type = initial->qp_type;
  qp->cap = cap;
  qp->signalAll = initial->sq_sig_all;
  world().qps[qp->base.qp_num] = qp;
  return &qp->base;
}

// GATE: creates the file that tells that it waits, and waits until the other one is gone.
static void waitAtGate() {
  const std::string gate = setting("GATE", "");
  if (gate.empty()) return;
  ::close(::open((gate + ".reached").c_str(), O_CREAT | O_CLOEXEC | O_WRONLY, 0600));
  const timespec pause{0, 1'000'000};
  while (::access(gate.c_str(), F_OK) == 0) ::nanosleep(&pause, nullptr);
}

int ibv_modify_qp(ibv_qp* base, ibv_qp_attr* to, int mask) {
  auto* qp = reinterpret_cast<Qp*>(base);
  if ((mask & IBV_QP_STATE) && to->qp_state == IBV_QPS_RTR) {
    const long slow = std::stol(setting("SLOW_MS", "0"));
    const timespec time{slow / 1000, slow % 1000 * 1'000'000};
    ::nanosleep(&time, nullptr);
    waitAtGate();
  }
  std::lock_guard guard(world().mutex);
  if (!(mask & IBV_QP_STATE)) return EINVAL;
  switch (to->qp_state) {
    case IBV_QPS_INIT:
      if (base->state != IBV_QPS_RESET) return EINVAL;
      break;
    case IBV_QPS_RTR:
      if (base->state != IBV_QPS_INIT) return EINVAL;
      if (!(mask & IBV_QP_AV) || !(mask & IBV_QP_DEST_QPN) || !(mask & IBV_QP_RQ_PSN)) return EINVAL;
      qp->attributes.dest_qp_num = to->dest_qp_num;
      qp->attributes.rq_psn = to->rq_psn;
      qp->attributes.path_mtu = to->path_mtu;
      qp->attributes.ah_attr = to->ah_attr;
      qp->attributes.max_dest_rd_atomic = to->max_dest_rd_atomic;
      qp->attributes.min_rnr_timer = to->min_rnr_timer;
      break;
    case IBV_QPS_RTS:
      if (base->state != IBV_QPS_RTR) return EINVAL;
      qp->attributes.sq_psn = to->sq_psn;
      qp->attributes.timeout = to->timeout;
      qp->attributes.retry_cnt = to->retry_cnt;
      qp->attributes.rnr_retry = to->rnr_retry;
      qp->attributes.max_rd_atomic = to->max_rd_atomic;
      break;
    case IBV_QPS_ERR:
      break;
    default:
      return EINVAL;
  }
  if (to->qp_state == IBV_QPS_ERR) breakOff(*qp);
  base->state = to->qp_state;
  poke();
  return 0;
}

int ibv_query_qp(ibv_qp* base, ibv_qp_attr* out, int, ibv_qp_init_attr* initial) {
  std::lock_guard guard(world().mutex);
  auto* qp = reinterpret_cast<Qp*>(base);
  *out = qp->attributes;
  out->qp_state = base->state;
  *initial = {};
  initial->cap = qp->cap;
  return 0;
}

int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) { return int(limit("order", 1)); }

int ibv_destroy_qp(ibv_qp* base) {
  std::lock_guard guard(world().mutex);
  // As some drivers: what it left in its completion queues goes with it.
  for (ibv_cq* cq : {base->send_cq, base->recv_cq}) {
    std::erase_if(reinterpret_cast<Cq*>(cq)->ring, [&](const ibv_wc& wc) { return wc.qp_num == base->qp_num; });
  }
  world().qps.erase(base->qp_num);
  delete reinterpret_cast<Qp*>(base);
  poke();  // its peer begins to miss it
  return 0;
}

}  // extern "C"
