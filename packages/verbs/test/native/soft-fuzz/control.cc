#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <future>
#include <iterator>
#include <thread>

#include "sockets.h"
#include "soft/control_segment.h"
#include "soft/device.h"
#include "soft/shm/transport.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

// Of one page up to kLittleRing entries, and of the layout for more.
constexpr uint32_t kDepths[] = {16, kLittleRing, kLittleRing + 1, kMaxReceiveDepth};

// Two devices in this process. The hostile one is honest until both are connected; then its pages are overwritten.
struct Pair {
  Pair() {
    for (auto& each : devices) {
      SoftOptions options;
      options.transport = "shm";
      each = std::make_unique<SoftDevice>(std::move(options));
    }
    for (int i = 0; i < 2; ++i) {
      SoftDevice& device = *devices[i];
      pd[i] = device.createProtectionDomain();
      cq[i] = device.createCompletionQueue(64, -1);
      region[i] = device.allocateRegion(pd[i], kBytes, kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic);
    }
  }
  static constexpr uint64_t kBytes = 256 << 10;
  std::unique_ptr<SoftDevice> devices[2];
  uint32_t pd[2]{}, cq[2]{}, region[2]{};
};

Pair& pair() {
  static auto* instance = new Pair;
  return *instance;
}

void connect(Pair& p, const uint32_t (&qp)[2]) {
  std::future<void> ready[2];
  for (int i = 0; i < 2; ++i) {
    auto done = std::make_shared<std::promise<void>>();
    ready[i] = done->get_future();
    SoftDevice& other = *p.devices[1 - i];
    const auto address = other.addressOf(qp[1 - i]);
    // A retry takes 20 ms at most, or an input that blocks would take long.
    p.devices[i]->connect(qp[i], address, ConnectParameters{1, 1, 20}, [done](const Failure*) { done->set_value(); });
  }
  for (auto& each : ready) each.wait();
}

void use(Pair& p, uint32_t qp) {
  SoftDevice& victim = *p.devices[0];
  const Region& own = victim.regions().at(p.region[0]);
  const Region& theirs = p.devices[1]->regions().at(p.region[1]);
  const uint32_t opcodes[] = {kReceive, kSend, kWrite, kWriteWithImm, kRead, kFetchAndAdd, kSend};
  constexpr int kCount = std::size(opcodes);
  WorkRequestSlot slots[kCount] = {};
  for (int i = 0; i < kCount; ++i) {
    WorkRequestSlot& slot = slots[i];
    slot.opcode = opcodes[i];
    slot.queuePair = qp;
    slot.flags = kSignaled;
    slot.sgeCount = 1;
    slot.sge[0] = {uint32_t(own.address), uint32_t(own.address >> 32), 100'000, own.key.load()};
    if (opcodes[i] == kFetchAndAdd) slot.sge[0].length = 8;
    slot.remoteLow = uint32_t(theirs.address);
    slot.remoteHigh = uint32_t(theirs.address >> 32);
    slot.rkey = theirs.key.load();
  }
  // The last one waits for the receive, which the peer publishes.
  slots[kCount - 1].flags |= kWaitFor;
  slots[kCount - 1].waitCount = 1;
  slots[kCount - 1].waits.entries[0] = {qp, 0, 1, 0};
  victim.post(slots, kCount);
}

// Takes what completes until all that was posted has, or the queue pair is closed.
void settle(Pair& p, uint32_t qp) {
  CompletionSlot slots[64];
  const auto queue = p.devices[0]->completionQueue(p.cq[0]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  while (std::chrono::steady_clock::now() < end) p.devices[0]->poll(*queue, slots, 64);
  p.devices[0]->destroyQueuePair(qp);
  p.devices[0]->poll(*queue, slots, 64);
}

// Where a change goes: the queue pair's page, its receive slots, inbound completions, the region's entry, the queue.
uint8_t* placeOf(const ControlSegment& control, uint8_t which, uint32_t qp, uint32_t ring, uint32_t region,
                 uint32_t cq) {
  const uint32_t index = qp & (kMaxQps - 1);
  switch (which % 5) {
    case 0:
      return reinterpret_cast<uint8_t*>(&control.qp(index));
    case 1:
      return reinterpret_cast<uint8_t*>(control.receiveSlots(index, ring));
    case 2:
      return reinterpret_cast<uint8_t*>(control.inbound(index, ring));
    case 3:
      return reinterpret_cast<uint8_t*>(&control.region(RegionTable::indexOf(region)));
    default:
      return reinterpret_cast<uint8_t*>(&control.cq(cq & (kMaxCqs - 1)));
  }
}

}  // namespace

// Changes of four bytes: which structure (bit 7: of the victim; bits 5-6 of the first change: the queue pairs' depth),
// which word of it, and the word's new value (4 bytes).
void control(const uint8_t* data, size_t size) {
  Pair& p = pair();
  const uint32_t depth = size > 0 ? kDepths[data[0] >> 5 & 3] : kDepths[0];
  uint32_t qp[2];
  for (int i = 0; i < 2; ++i) qp[i] = p.devices[i]->createQueuePair({p.pd[i], p.cq[i], p.cq[i], depth, depth, true});
  connect(p, qp);
  // The hostile side's own pages, and what it may write of the victim's.
  SharedRegion& entry = p.devices[1]->control().region(RegionTable::indexOf(p.region[1]));
  uint8_t saved[sizeof(SharedRegion)];
  std::memcpy(saved, static_cast<void*>(&entry), sizeof saved);
  for (size_t at = 0; at + 6 <= size; at += 6) {
    const bool victims = data[at] & 0x80;
    const ControlSegment& segment = p.devices[victims ? 0 : 1]->control();
    // Of the victim's pages a peer has business with its queue pair's alone: the rest is beyond what is promised.
    const uint8_t which = victims ? uint8_t(data[at] & 2) : uint8_t(data[at] & 0x1f);
    uint8_t* place = placeOf(segment, which, qp[victims ? 0 : 1], receiveRing(depth), p.region[1], p.cq[1]);
    std::memcpy(place + data[at + 1] * 4, data + at + 2, 4);
  }
  use(p, qp[0]);
  settle(p, qp[0]);
  std::memcpy(static_cast<void*>(&entry), saved, sizeof saved);
  p.devices[1]->destroyQueuePair(qp[1]);
}

}  // namespace rdmc::fuzz
