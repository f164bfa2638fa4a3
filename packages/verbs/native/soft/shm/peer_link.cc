#include "soft/shm/peer_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/arena_pool.h"
#include "core/failure.h"
#include "core/sealed_memory.h"
#include "soft/completion_queue.h"
#include "soft/peer_bells.h"

namespace rdmc {

void PeerArena::prepare(uint64_t offset, uint64_t length) {
  const uint64_t last = (offset + length - 1) / kChunkBytes;
  for (uint64_t chunk = offset / kChunkBytes; chunk <= last; ++chunk) {
    if (populated[chunk].load(std::memory_order_relaxed)) continue;
    populateRange(memory.data() + chunk * kChunkBytes, kChunkBytes);
    populated[chunk].store(1, std::memory_order_relaxed);
  }
}

PeerLink::PeerLink(Fd socket, ControlSegment control) : socket_(std::move(socket)), control_(std::move(control)) {
  for (auto& event : events_) event.store(-1);
  for (auto& signalled : lastSignalled_) signalled.store(0);
}

void PeerLink::poke() const {
  LinkMessage message = linkMessage(kWake);
  sendLinkMessage(socket_.get(), message);
}

void PeerLink::signal(uint32_t cq, bool solicited) {
  if (!shouldSignal(control_.cq(cq), lastSignalled_[cq], solicited)) return;
  const int fd = events_[cq].load(std::memory_order_acquire);
  if (fd >= 0) PeerBells::ring(fd);
}

std::shared_ptr<PeerArena> PeerLink::arena(uint32_t id) {
  std::lock_guard guard(mutex_);
  const auto found = arenas_.find(id);
  return found == arenas_.end() ? nullptr : found->second;
}

void PeerLink::requestArena(uint32_t id) {
  {
    std::lock_guard guard(mutex_);
    if (std::find(requested_.begin(), requested_.end(), id) != requested_.end()) return;
    requested_.push_back(id);
  }
  LinkMessage message = linkMessage(kGetArena);
  message.arena.id = id;
  send(message);
}

void PeerLink::addArena(uint32_t id, const Fd& fd, uint64_t size) {
  {
    std::lock_guard guard(mutex_);
    if (std::erase(requested_, id) == 0) return;  // nobody asked for it
  }
  std::shared_ptr<PeerArena> arena;
  if (size > 0) {
    requireSealed(fd, "The peer's memory");
    if (size != memoryBytes(fd) || size % kChunkBytes != 0) {
      throw Failure("ERR_RDMC_CONNECT_FAILED", "The peer announces memory of " + std::to_string(size) +
                                                   " bytes, and hands out " + std::to_string(memoryBytes(fd)));
    }
    arena = std::make_shared<PeerArena>();
    arena->id = id;
    arena->memory = mapArena(fd.get(), size);
    arena->populated = std::make_unique<std::atomic<uint8_t>[]>(size / kChunkBytes);
  }
  std::lock_guard guard(mutex_);
  if (arena) arenas_[id] = std::move(arena);
}

void PeerLink::dropArena(uint32_t id) {
  std::lock_guard guard(mutex_);
  arenas_.erase(id);
  arenaEpoch_.fetch_add(1, std::memory_order_release);
}

void PeerLink::addEvent(uint32_t cq, uint64_t channelId, Fd fd) {
  if (!PeerBells::isBell(fd)) {
    throw Failure("ERR_RDMC_CONNECT_FAILED",
                  "The peer hands out something to wake it by that is not a datagram socket; is it a soft device?");
  }
  std::lock_guard guard(mutex_);
  if (cq >= kMaxCqs) return;
  if (const auto known = eventFds_.find(cq); known != eventFds_.end()) {
    if (known->second.channelId == channelId) return;
    // In the place of the former one, because another thread may be writing to that.
    if (::dup3(fd.get(), known->second.fd.get(), O_CLOEXEC) < 0) {
      throw systemFailure("dup3", "Connecting over shared memory", errno);
    }
    known->second.channelId = channelId;
    return;
  }
  events_[cq].store(fd.get(), std::memory_order_release);
  eventFds_.emplace(cq, Event{channelId, std::move(fd)});
}

bool PeerLink::send(const LinkMessage& message) {
  if (lost()) return false;
  std::lock_guard guard(outboxMutex_);
  return outbox_.send(socket_.get(), message);
}

PeerLink::Flushed PeerLink::flush() {
  std::lock_guard guard(outboxMutex_);
  outbox_.flush(socket_.get());
  if (outbox_.overflown()) return Flushed::kNeverRead;
  return outbox_.empty() ? Flushed::kAll : Flushed::kSome;
}

void PeerLink::markLost() {
  lost_.store(true, std::memory_order_release);
  // A request that is copying keeps the memory mapped until it has finished.
  std::lock_guard guard(mutex_);
  arenas_.clear();
  arenaEpoch_.fetch_add(1, std::memory_order_release);
}

}  // namespace rdmc
