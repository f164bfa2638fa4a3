#include "ibv/translator.h"

#include <arpa/inet.h>

#include <mutex>
#include <utility>

#include "core/scatter_gather.h"
#include "core/tally.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

void fillReceive(const ibv_wc& wc, uint64_t id, uint32_t number, CompletionSlot& out) {
  const bool success = wc.status == IBV_WC_SUCCESS;
  const bool immediate = success && (wc.wc_flags & IBV_WC_WITH_IMM);
  out.idLow = uint32_t(id);
  out.idHigh = uint32_t(id >> 32);
  out.status = uint32_t(wc.status);
  out.opcode = success && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? uint32_t(kCompletedReceiveWriteWithImm)
                                                                 : uint32_t(kCompletedReceive);
  out.bytes = success ? wc.byte_len : 0;
  out.immediate = immediate ? ntohl(wc.imm_data) : 0;
  out.queuePair = number;
  out.flags = immediate ? uint32_t(kWithImmediate) : 0;
}

void fillSend(const ibv_wc& wc, const CompletedRequest& done, uint32_t number, CompletionSlot& out) {
  out.idLow = uint32_t(done.id);
  out.idHigh = uint32_t(done.id >> 32);
  out.status = uint32_t(wc.status);
  out.opcode = completionOpcode(done.opcode);
  out.bytes = wc.status == IBV_WC_SUCCESS ? done.bytes : 0;
  out.immediate = 0;
  out.queuePair = number;
  out.flags = 0;
}

// A request that failed has put its queue pair into the error state.
void noteState(const ibv_wc& wc, const std::shared_ptr<IbvQueuePair>& qp, IbvCompletionQueue& cq) {
  if (wc.status != IBV_WC_SUCCESS && qp->state.exchange(kError) != kError) cq.noteBroken(qp);
}

}  // namespace

bool IbvTranslator::translateShared(IbvCompletionQueue& cq, const ibv_wc& wc, CompletionSlot& out) {
  const auto queue = shared_.find(uint32_t(wc.wr_id >> 32));
  if (!queue) return false;
  uint64_t id;
  {
    std::lock_guard guard(queue->lock);
    const uint32_t at = uint32_t(wc.wr_id) & kPositionMask;
    RequestRecord& record = queue->records[at];
    id = record.id;
    dropRegions(record.regions, record.regionCount);
    record.regionCount = 0;
    queue->free.push_back(at);
  }
  const uint32_t number = table_.numberOf(wc.qp_num);
  if (number == 0) return false;  // of a destroyed queue pair
  if (const auto qp = table_.find(number)) noteState(wc, qp, cq);
  fillReceive(wc, id, number, out);
  return true;
}

uint32_t IbvTranslator::translate(IbvCompletionQueue& cq, const ibv_wc* from, uint32_t count, CompletionSlot* out) {
  RegionDrops drops;
  // Consecutive completions, and consecutive polls, mostly belong to one queue pair.
  std::shared_ptr<IbvQueuePair>& holder = cq.lastHolder;
  uint32_t made = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const ibv_wc& wc = from[i];
    const uint32_t number = uint32_t(wc.wr_id >> 32);
    const auto kind = RequestKind(uint32_t(wc.wr_id) >> 30);
    if (kind == RequestKind::kSharedReceive) {
      made += translateShared(cq, wc, out[made]);
      continue;
    }
    if (!holder || holder->number != number) holder = table_.find(number);
    if (!holder || holder->closed.load(std::memory_order_acquire)) continue;  // destroyed since
    noteState(wc, holder, cq);
    if (kind == RequestKind::kDrain) {
      holder->drained = true;
      continue;
    }
    CompletedRequest done;
    RequestRing& ring = kind == RequestKind::kSend ? holder->sends : holder->receives;
    if (!ring.complete(uint32_t(wc.wr_id) & kPositionMask, done, drops)) continue;
    if (kind == RequestKind::kSend) {
      fillSend(wc, done, number, out[made++]);
    } else {
      fillReceive(wc, done.id, number, out[made++]);
    }
  }
  tally(completions_, made);
  return made;
}

}  // namespace rdmc

#endif
