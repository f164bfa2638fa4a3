// How requests move: in one thread for all devices, under the world's lock.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "fake.h"

namespace fake {
namespace {

int64_t nowNs() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

uint8_t* find(const std::map<uint32_t, Mr*>& keys, uint32_t key, uint64_t address, uint64_t length, ibv_pd* pd,
              int access) {
  const auto found = keys.find(key);
  if (found == keys.end()) return nullptr;
  const Mr& mr = *found->second;
  const auto start = reinterpret_cast<uint64_t>(mr.base.addr);
  const bool inside = address >= start && length <= mr.base.length && address - start <= mr.base.length - length;
  if (!inside || mr.base.pd != pd || (mr.access & access) != access) return nullptr;
  return reinterpret_cast<uint8_t*>(address);
}

uint64_t total(const std::vector<ibv_sge>& entries) {
  uint64_t sum = 0;
  for (const ibv_sge& each : entries) sum += each.length;
  return sum;
}

// Copies between a flat range and entries; false where an entry is not allowed.
bool scatter(const std::vector<ibv_sge>& entries, uint8_t* flat, uint64_t length, ibv_pd* pd, bool into) {
  for (const ibv_sge& each : entries) {
    const uint64_t part = std::min<uint64_t>(each.length, length);
    uint8_t* here = find(world().byLocalKey, each.lkey, each.addr, each.length, pd, into ? IBV_ACCESS_LOCAL_WRITE : 0);
    if (!here) return false;
    std::memmove(into ? here : flat, into ? flat : here, part);
    flat += part;
    length -= part;
  }
  return true;
}

Qp* reachable(const Qp& qp) {
  const auto found = world().qps.find(qp.attributes.dest_qp_num);
  if (found == world().qps.end()) return nullptr;
  Qp& peer = *found->second;
  const bool ready = peer.base.state == IBV_QPS_RTR || peer.base.state == IBV_QPS_RTS;
  const bool ours = peer.attributes.dest_qp_num == qp.base.qp_num && peer.attributes.rq_psn == qp.attributes.sq_psn;
  return ready && ours ? &peer : nullptr;
}

ibv_wc_opcode sendOpcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

void toError(Qp& qp) { breakOff(qp); }

void failHead(Qp& qp, ibv_wc_status status) {
  const Send head = std::move(qp.sends.front());
  qp.sends.pop_front();
  complete(qp, false, head.request.wr_id, status, sendOpcode(head.request.opcode), 0, true);
  toError(qp);
}

std::deque<Receive>& receivesOf(Qp& qp) {
  return qp.base.srq ? reinterpret_cast<Srq*>(qp.base.srq)->ring : qp.receives;
}

enum class Done { kYes, kWait, kBroken };

// The receive side of SEND and of WRITE_WITH_IMM.
Done deliver(Qp& qp, Qp& peer, const ibv_send_wr& request, uint8_t* bytes, uint64_t length, bool write) {
  auto& receives = receivesOf(peer);
  if (receives.empty()) {
    if (qp.attributes.rnr_retry == 7) return Done::kWait;
    failHead(qp, IBV_WC_RNR_RETRY_EXC_ERR);
    return Done::kBroken;
  }
  const Receive receive = std::move(receives.front());
  receives.pop_front();
  const bool solicited = request.send_flags & IBV_SEND_SOLICITED;
  const bool immediate = request.opcode == IBV_WR_SEND_WITH_IMM || request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (!write && total(receive.entries) < length) {
    complete(peer, true, receive.id, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 0, true);
    toError(peer);
    failHead(qp, IBV_WC_REM_INV_REQ_ERR);
    return Done::kBroken;
  }
  ibv_pd* const pd = peer.base.srq ? peer.base.srq->pd : peer.base.pd;
  if (!write && !scatter(receive.entries, bytes, length, pd, true)) {
    complete(peer, true, receive.id, IBV_WC_LOC_PROT_ERR, IBV_WC_RECV, 0, true);
    toError(peer);
    failHead(qp, IBV_WC_REM_OP_ERR);
    return Done::kBroken;
  }
  complete(peer, true, receive.id, IBV_WC_SUCCESS, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV, uint32_t(length),
           solicited, immediate ? &request.imm_data : nullptr);
  return Done::kYes;
}

Done refuse(Qp& qp, Qp& peer, ibv_wc_status status) {
  toError(peer);
  failHead(qp, status);
  return Done::kBroken;
}

Done oneSided(Qp& qp, Qp& peer, Send& head, std::vector<uint8_t>& bytes) {
  const ibv_send_wr& request = head.request;
  const auto& keys = world().byRemoteKey;
  const bool atomic = request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const uint64_t address = atomic ? request.wr.atomic.remote_addr : request.wr.rdma.remote_addr;
  const uint32_t key = atomic ? request.wr.atomic.rkey : request.wr.rdma.rkey;
  const bool read = request.opcode == IBV_WR_RDMA_READ;
  const int access = atomic ? IBV_ACCESS_REMOTE_ATOMIC : read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  if (bytes.empty() && !atomic) return Done::kYes;  // no bytes, no key
  uint8_t* there = find(keys, key, address, bytes.size(), peer.base.pd, access);
  if (!there) return refuse(qp, peer, IBV_WC_REM_ACCESS_ERR);
  if (atomic && address % 8 != 0) return refuse(qp, peer, IBV_WC_REM_INV_REQ_ERR);
  if (atomic) {
    uint64_t before;
    std::memcpy(&before, there, sizeof before);
    const auto& operands = request.wr.atomic;
    const bool add = request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    const uint64_t after = add                              ? before + operands.compare_add
                           : before == operands.compare_add ? operands.swap
                                                            : before;
    std::memcpy(there, &after, sizeof after);
    std::memcpy(bytes.data(), &before, sizeof before);
  } else if (read) {
    std::memcpy(bytes.data(), there, bytes.size());
  } else {
    std::memmove(there, bytes.data(), bytes.size());
  }
  if ((atomic || read) && !scatter(head.entries, bytes.data(), bytes.size(), qp.base.pd, true)) {
    failHead(qp, IBV_WC_LOC_PROT_ERR);
    return Done::kBroken;
  }
  return Done::kYes;
}

Done execute(Qp& qp, Qp& peer) {
  Send& head = qp.sends.front();
  const ibv_send_wr& request = head.request;
  const bool fetches = sendOpcode(request.opcode) != IBV_WC_SEND && sendOpcode(request.opcode) != IBV_WC_RDMA_WRITE;
  std::vector<uint8_t> bytes(head.inlined.empty() ? total(head.entries) : head.inlined.size());
  if (!head.inlined.empty()) bytes = head.inlined;
  if (head.inlined.empty() && !fetches && !scatter(head.entries, bytes.data(), bytes.size(), qp.base.pd, false)) {
    failHead(qp, IBV_WC_LOC_PROT_ERR);
    return Done::kBroken;
  }
  const bool send = sendOpcode(request.opcode) == IBV_WC_SEND;
  if (send) return deliver(qp, peer, request, bytes.data(), bytes.size(), false);
  if (request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && receivesOf(peer).empty() && qp.attributes.rnr_retry == 7) {
    return Done::kWait;
  }
  const Done done = oneSided(qp, peer, head, bytes);
  if (done != Done::kYes || request.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) return done;
  return deliver(qp, peer, request, bytes.data(), bytes.size(), true);
}

int64_t patienceNs(const Qp& qp) {
  return int64_t(4096) * (int64_t(1) << qp.attributes.timeout) * (qp.attributes.retry_cnt + 1);
}

Link linkOf(const Qp& qp) { return contextOf(qp.base.context)->link; }

bool sends(Link link) { return link == Link::kUp || link == Link::kDeaf; }
bool hears(Link link) { return link == Link::kUp || link == Link::kMute; }

// A port that is down, as rdma_rxe of Linux 6.1 treats it, and a driver that loses requests. True: nothing moves.
bool heldByPort(Qp& qp) {
  if (portMoves(qp)) {
    qp.underWay = qp.sends.size();
    return false;
  }
  if (linkOf(qp) == Link::kLost) return true;
  if (!likeRxe()) return false;
  if (qp.underWay == 0) {
    failHead(qp, IBV_WC_LOC_QP_OP_ERR);
    return true;
  }
  qp.stopped |= qp.sends.size() > qp.underWay;
  return qp.stopped;
}

// Whether the oldest send is acknowledged; it may be executed even if not.
Done attempt(Qp& qp) {
  Qp* peer = reachable(qp);
  if (!peer || !sends(linkOf(qp)) || !hears(linkOf(*peer))) return Done::kWait;
  if (!qp.sends.front().executed) {
    if (const Done done = execute(qp, *peer); done != Done::kYes) {
      qp.deadlineNs = 0;
      return Done::kBroken;
    }
    qp.sends.front().executed = true;
  }
  return hears(linkOf(qp)) && sends(linkOf(*peer)) ? Done::kYes : Done::kWait;
}

void progress(Qp& qp) {
  while (qp.base.state == IBV_QPS_RTS && !qp.sends.empty()) {
    if (qp.stopped || heldByPort(qp)) {
      qp.deadlineNs = 0;
      return;
    }
    const Done done = attempt(qp);
    if (done == Done::kBroken) return;
    if (done == Done::kWait) {
      if (qp.deadlineNs == 0) qp.deadlineNs = nowNs() + patienceNs(qp);
      if (nowNs() < qp.deadlineNs) return;
      return failHead(qp, IBV_WC_RETRY_EXC_ERR);
    }
    qp.deadlineNs = 0;
    const Send head = std::move(qp.sends.front());
    qp.sends.pop_front();
    qp.underWay = qp.sends.size();
    if (!qp.signalAll && !(head.request.send_flags & IBV_SEND_SIGNALED)) continue;
    complete(qp, false, head.request.wr_id, IBV_WC_SUCCESS, sendOpcode(head.request.opcode), 0, false);
  }
}

// Never ends: devices come and go, the process keeps it.
void run() {
  std::unique_lock lock(world().mutex);
  for (;;) {
    world().poked = false;
    bool trying = false;
    for (const auto& [number, qp] : world().qps) {
      progress(*qp);
      trying |= qp->deadlineNs != 0;
    }
    const auto wanted = [] { return world().poked; };
    if (trying) {
      world().work.wait_for(lock, std::chrono::milliseconds(1), wanted);
    } else {
      world().work.wait(lock, wanted);
    }
  }
}

}  // namespace

bool portMoves(const Qp& qp) { return linkOf(qp) != Link::kDown && linkOf(qp) != Link::kLost; }

void poke() {
  if (!std::exchange(world().running, true)) std::thread(run).detach();
  world().poked = true;
  world().work.notify_one();
}

void complete(Qp& qp, bool receive, uint64_t id, ibv_wc_status status, ibv_wc_opcode opcode, uint32_t bytes,
              bool solicited, const uint32_t* immediate) {
  Cq& cq = cqOf(receive ? qp.base.recv_cq : qp.base.send_cq);
  if (cq.ring.size() >= size_t(cq.base.cqe)) misuse("a completion queue overran");
  ibv_wc wc{};
  wc.wr_id = id;
  wc.status = status;
  wc.qp_num = qp.base.qp_num;
  if (status == IBV_WC_SUCCESS) {  // nothing else is valid in an error
    wc.opcode = opcode;
    wc.byte_len = bytes;
    wc.wc_flags = immediate ? IBV_WC_WITH_IMM : 0;
    wc.imm_data = immediate ? *immediate : 0;
  }
  cq.ring.push_back(wc);
  const bool failed = status != IBV_WC_SUCCESS && (receive || !likeRxe());
  const bool wanted = cq.armed == 1 || (cq.armed == 2 && (failed || (receive && solicited)));
  if (!wanted || !cq.base.channel) return;
  cq.armed = 0;
  ++cq.unacknowledged;
  ibv_cq* event = &cq.base;
  auto* channel = reinterpret_cast<Channel*>(cq.base.channel);
  if (::write(channel->write, &event, sizeof event) != ssize_t(sizeof event)) misuse("a completion channel is full");
}

void breakOff(Qp& qp) {
  const bool before = qp.base.state == IBV_QPS_ERR;
  qp.base.state = IBV_QPS_ERR;
  flush(qp);
  if (before || !qp.base.srq || likeRxe()) return;
  const uint32_t record[2] = {IBV_EVENT_QP_LAST_WQE_REACHED, qp.base.qp_num};
  const ibv_context& context = *qp.base.context;
  const int to = context.cmd_fd >= 0 ? context.cmd_fd : context.async_fd;
  if (::write(to, record, sizeof record) != ssize_t(sizeof record)) misuse("an event could not be raised");
}

void flush(Qp& qp) {
  while (!qp.sends.empty()) {
    const Send head = std::move(qp.sends.front());
    qp.sends.pop_front();
    complete(qp, false, head.request.wr_id, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 0, true);
  }
  while (!qp.receives.empty()) {
    const Receive head = std::move(qp.receives.front());
    qp.receives.pop_front();
    complete(qp, true, head.id, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0, true);
  }
}

}  // namespace fake
