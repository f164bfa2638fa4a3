// The control segment: one memfd per device, mapped by every peer on this host. Sparse: only used pages take memory.
//
//   0        Header: magic, version, pid, device id, liveness word
//   64 KiB   SharedRegion[16384], 64 bytes each      written by the owner
//   2 MiB    SharedCq[256], 4 KiB each               written by the owner (`ready` is or-ed by peers)
//   4 MiB    queue pair pages[8192], 128 KiB each:
//              0      SharedQp                       a cache line for each writer:
//                       0  state  number  protectionDomain  receiveRing   receiveCq  -  peerToken     owner, seldom
//                      64  receivesPosted  -  wakeAt                                                  owner, often
//                     128  busy  busyRegion  produced  rnrWaiting                                     connected peer
//              rings of up to 32 entries (receiveRing), so that a queue pair needs one page:
//                256  InboundCompletion[32]          written by the connected peer
//               1280  ReceiveSlot[32]                written by the owner
//              more:
//              4 KiB  ReceiveSlot[entries]
//             96 KiB  InboundCompletion[entries]
//
// A structure has one writing process, so that a peer that dies or is stopped anywhere leaves nothing half-locked.
// `SharedCq::ready` is the one exception: a bitmap of hints, changed by single atomic operations, and rescanned when a
// peer dies.
//
// A peer maps the whole segment and may write anything anywhere. So a value that a peer may have changed is read once,
// checked, and used from the copy (`readOnce`); what only the owner needs (depths, the list of held mutexes) is kept
// in the owner's private memory.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/constants.h"
#include "core/limits.h"
#include "core/raii.h"

namespace rdmc {

constexpr uint32_t kControlMagic = 0x434d4452;  // "RDMC"
constexpr uint32_t kControlVersion = 5;         // 5: queue pairs of little depth in one page
constexpr uint32_t kMaxCqs = 256;
constexpr uint32_t kMaxReceiveDepth = 1024;
constexpr uint32_t kMaxSendDepth = 16384;

// An atomic that uses a lock would not be atomic between processes.
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);

// Entries of the rings of a queue pair with that many receives. The counters of receives have 32 bits, wrap, and are
// the places in the rings: at the wrap, one place follows the other only in a ring whose length divides 2^32.
constexpr uint32_t receiveRing(uint32_t depth) { return std::bit_ceil(depth); }
static_assert(receiveRing(1) == 1 && receiveRing(3) == 4 && receiveRing(kMaxReceiveDepth) == kMaxReceiveDepth);

using DeviceId = std::array<uint8_t, 16>;

struct Header {
  uint32_t magic, version;
  int32_t pid;
  uint32_t reserved;
  DeviceId id;
  // The service thread's id for as long as the device lives: a robust futex. When its holder dies, the kernel clears
  // the thread id, before anybody could notice otherwise.
  alignas(64) std::atomic<uint32_t> liveness;
};

struct alignas(64) SharedRegion {
  std::atomic<uint32_t> key;  // 0: unused. Stored last when the region is published, and first when it is withdrawn.
  std::atomic<uint32_t> access;  // remote rights disappear when they are revoked
  uint32_t protectionDomain;
  uint32_t arena;  // id of the memfd that holds it
  uint64_t address;
  uint64_t length;
  uint64_t arenaOffset;
  std::atomic<uint32_t> moving;  // being given fresh memory: initiators wait
};
static_assert(sizeof(SharedRegion) == 64);

struct alignas(4096) SharedCq {
  // 0: not armed yet, else a count << 1 | solicited only. Each initiator signals once per value.
  std::atomic<uint32_t> armed;
  alignas(64) std::atomic<uint64_t> ready[kMaxQps / 64];  // queue pairs with unread completions
};
static_assert(sizeof(SharedCq) == 4096);

struct SharedQp {
  // Written by the owner, seldom.
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> number;  // with generation: a stale peer detects that the page belongs to another queue pair
  uint32_t protectionDomain;
  uint32_t receiveRing;  // entries of its rings, not the depth
  uint32_t receiveCq;
  std::atomic<uint64_t> peerToken;  // which queue pair may use this page; 0: none yet
  // Written by the owner, often.
  alignas(64) std::atomic<uint32_t> receivesPosted;
  // The receive, counted from 1, that requests of the owner wait for: the peer that completes it, or fails one, wakes
  // the owner's service thread. 0: none. See wakesAt.
  std::atomic<uint64_t> wakeAt;
  // Written by the connected peer.
  alignas(64) std::atomic<uint32_t> busy;  // odd while the peer may change bytes here
  std::atomic<uint32_t> busyRegion;        // index of the region those bytes lie in
  std::atomic<uint32_t> produced;          // inbound completions written = receives taken
  std::atomic<uint32_t> rnrWaiting;        // 1: wake the peer's service thread at the next receive
};
// As drawn above.
static_assert(sizeof(SharedQp) <= 4096 && offsetof(SharedQp, number) == 4 && offsetof(SharedQp, peerToken) == 24);
static_assert(offsetof(SharedQp, receivesPosted) == 64 && offsetof(SharedQp, wakeAt) == 72);
static_assert(offsetof(SharedQp, busy) == 128 && offsetof(SharedQp, rnrWaiting) == 140);

// Whether the receive `wakeAt` is among the first `produced` ones. `produced` has 32 bits and wraps; a `wakeAt` that is
// further away than half of its range may wake too early, but never too late.
constexpr bool wakesAt(uint64_t wakeAt, uint32_t produced) {
  return wakeAt != 0 && int32_t(produced - uint32_t(wakeAt)) >= 0;
}
static_assert(!wakesAt(0, 7) && !wakesAt(8, 7) && wakesAt(7, 7) && wakesAt(7, 8));
static_assert(!wakesAt(1ull << 32, 0xffff'ffff) && wakesAt(1ull << 32, 0) && wakesAt(0xffff'ffff, 3));

struct ReceiveSlot {
  uint32_t sgeCount, reserved[3];
  Sge sge[kMaxSge];
};
static_assert(sizeof(ReceiveSlot) == 80);

struct InboundCompletion {
  uint32_t status, opcode, bytes, immediate, flags, reserved[3];
};
static_assert(sizeof(InboundCompletion) == 32);

constexpr size_t kRegionsOffset = 64 << 10;
constexpr size_t kCqsOffset = 2 << 20;
constexpr size_t kQpsOffset = 4 << 20;
constexpr size_t kQpStride = 128 << 10;
constexpr uint32_t kLittleRing = 32;
constexpr size_t kLittleInboundOffset = 256;
constexpr size_t kLittleReceiveSlotsOffset = kLittleInboundOffset + sizeof(InboundCompletion) * kLittleRing;
constexpr size_t kReceiveSlotsOffset = 4 << 10;
constexpr size_t kInboundOffset = 96 << 10;
constexpr size_t kControlBytes = kQpsOffset + size_t(kMaxQps) * kQpStride;
// As drawn above.
static_assert(kRegionsOffset == 65'536 && kCqsOffset == 2'097'152 && kQpsOffset == 4'194'304);
static_assert(kQpStride == 131'072 && kReceiveSlotsOffset == 4'096 && kInboundOffset == 98'304);
static_assert(kLittleReceiveSlotsOffset == 1'280);
static_assert(sizeof(Header) <= kRegionsOffset && sizeof(SharedQp) <= kLittleInboundOffset);
static_assert(kLittleReceiveSlotsOffset + sizeof(ReceiveSlot) * kLittleRing <= kReceiveSlotsOffset);
static_assert(kRegionsOffset + sizeof(SharedRegion) * kMaxRegions <= kCqsOffset);
static_assert(kCqsOffset + sizeof(SharedCq) * kMaxCqs <= kQpsOffset);
static_assert(kReceiveSlotsOffset + sizeof(ReceiveSlot) * kMaxReceiveDepth <= kInboundOffset);
static_assert(kInboundOffset + sizeof(InboundCompletion) * kMaxReceiveDepth <= kQpStride);

// A copy of a value that another process may change meanwhile: every word of it is read exactly once. Structures go
// field by field: through an array of words, their fields would be read again before the processor has them together.
template <typename T>
T readOnce(const T& shared) {
  static_assert(std::is_integral_v<T>);
  return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}
inline Sge readOnce(const Sge& shared) {
  return {readOnce(shared.addressLow), readOnce(shared.addressHigh), readOnce(shared.length), readOnce(shared.lkey)};
}
inline ReceiveSlot readOnce(const ReceiveSlot& shared) {
  ReceiveSlot copy{};
  copy.sgeCount = readOnce(shared.sgeCount);
  for (uint32_t i = 0; i < kMaxSge; ++i) copy.sge[i] = readOnce(shared.sge[i]);
  return copy;
}
inline InboundCompletion readOnce(const InboundCompletion& shared) {
  InboundCompletion copy;
  copy.status = readOnce(shared.status);
  copy.opcode = readOnce(shared.opcode);
  copy.bytes = readOnce(shared.bytes);
  copy.immediate = readOnce(shared.immediate);
  copy.flags = readOnce(shared.flags);
  return copy;
}

class RobustHold;

class ControlSegment {
 public:
  ControlSegment();
  ControlSegment(ControlSegment&&) noexcept;
  ~ControlSegment();
  static ControlSegment create(const DeviceId& id);
  // Maps a peer's segment. Throws Failure ERR_RDMC_PROTOCOL_VERSION when it is of another version, and
  // ERR_RDMC_CONNECT_FAILED when its size can be changed.
  static ControlSegment map(const Fd& fd);

  Header& header() const { return *reinterpret_cast<Header*>(memory_.data()); }
  SharedRegion& region(uint32_t index) const {
    return reinterpret_cast<SharedRegion*>(memory_.data() + kRegionsOffset)[index];
  }
  SharedCq& cq(uint32_t index) const { return reinterpret_cast<SharedCq*>(memory_.data() + kCqsOffset)[index]; }
  SharedQp& qp(uint32_t index) const { return *reinterpret_cast<SharedQp*>(page(index)); }
  // `entries`: those of the queue pair's rings.
  ReceiveSlot* receiveSlots(uint32_t index, uint32_t entries) const {
    const size_t offset = entries <= kLittleRing ? kLittleReceiveSlotsOffset : kReceiveSlotsOffset;
    return reinterpret_cast<ReceiveSlot*>(page(index) + offset);
  }
  InboundCompletion* inbound(uint32_t index, uint32_t entries) const {
    const size_t offset = entries <= kLittleRing ? kLittleInboundOffset : kInboundOffset;
    return reinterpret_cast<InboundCompletion*>(page(index) + offset);
  }
  const Fd& fd() const { return fd_; }

  // Called by the service thread, which lives as long as the device.
  void holdLiveness();
  void releaseLiveness();
  // Whether the process behind this segment still lives: one load of shared memory.
  bool alive() const;

 private:
  uint8_t* page(uint32_t index) const { return memory_.data() + kQpsOffset + index * kQpStride; }
  Fd fd_;
  Mapping memory_;
  std::unique_ptr<RobustHold> hold_;  // the service thread's, while it holds the liveness word
};

}  // namespace rdmc
