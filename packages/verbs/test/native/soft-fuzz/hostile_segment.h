// The memory of a hostile peer on this host: honest, until an input changes it.
#pragma once
#include "core/arena_pool.h"
#include "core/sealed_memory.h"
#include "soft/control_segment.h"

namespace rdmc::fuzz {

constexpr uint32_t kHostileQp = 1 | kMaxQps, kHostileKey = 1 | kMaxRegions, kHostileArena = 1, kHostileDomain = 1;
constexpr uint64_t kHostileAddress = 0x10000;

// A queue pair has the token of its peer in its page: soft/shm/dialler.cc.
inline uint64_t tokenOf(const DeviceId& device, uint32_t queuePair) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : device) hash = (hash ^ byte) * 0x100000001b3;
  for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((queuePair >> shift) & 0xff)) * 0x100000001b3;
  return hash | 1;
}

// One region, and one queue pair with receives into it, which is connected to the one with this token.
inline ControlSegment hostileSegment(const DeviceId& own, uint64_t peerToken, uint32_t ring) {
  ControlSegment segment = ControlSegment::create(own);
  segment.header().liveness.store(1);
  SharedRegion& region = segment.region(kHostileKey & (kMaxRegions - 1));
  region.access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  region.protectionDomain = kHostileDomain;
  region.arena = kHostileArena;
  region.address = kHostileAddress;
  region.length = kChunkBytes;
  region.key.store(kHostileKey);
  const uint32_t index = kHostileQp & (kMaxQps - 1);
  SharedQp& qp = segment.qp(index);
  qp.number.store(kHostileQp);
  qp.protectionDomain = kHostileDomain;
  qp.receiveRing = ring;
  qp.peerToken.store(peerToken);
  qp.receivesPosted.store(1);
  ReceiveSlot& slot = segment.receiveSlots(index, ring)[0];
  slot.sgeCount = 1;
  slot.sge[0] = {uint32_t(kHostileAddress), 0, 4096, kHostileKey};
  qp.state.store(kRts);
  segment.cq(0).armed.store(2);
  return segment;
}

}  // namespace rdmc::fuzz
