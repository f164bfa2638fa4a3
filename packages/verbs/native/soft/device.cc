#include "soft/device.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "core/failure.h"
#include "soft/address.h"
#include "soft/shm/transport.h"
#include "soft/tcp/transport.h"

namespace rdmc {
namespace {

DeviceId randomId() {
  DeviceId id;
  if (::getrandom(id.data(), id.size(), 0) != ssize_t(id.size())) {
    throw systemFailure("getrandom", "Naming the device", errno);
  }
  return id;
}

// Two devices with the same host id can connect in the abstract name space of Unix sockets, and trust each other there:
// they belong to one user. Others use TCP, as devices of different hosts do.
std::string readHostId() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat net {};
  ::stat("/proc/self/ns/net", &net);
  return boot + "/" + std::to_string(net.st_ino) + "/" + std::to_string(::geteuid());
}

}  // namespace

SoftDevice::SoftDevice(SoftOptions options)
    : options_(std::move(options)),
      id_(randomId()),
      hostId_(readHostId()),
      control_(ControlSegment::create(id_)),
      pool_(std::make_shared<ArenaPool>()),
      directory_(control_),
      regions_(&directory_),
      waits_(*this),
      pds_(1),
      qpPageTaken_(kMaxQps),
      qpGeneration_(kMaxQps) {
  if (sharedMemory()) shm_ = std::make_unique<ShmTransport>(*this);
  ServiceThread::Hooks hooks;
  hooks.begin = [this] { control_.holdLiveness(); };
  hooks.end = [this] {
    Rollback dead([this] { control_.releaseLiveness(); });  // whatever happens
    if (shm_) shm_->stop();
  };
  hooks.failed = [this](const Failure& why) { abandon(why); };
  hooks.turn = [this] {
    const int nextMs = turn();
    return shm_ ? sooner(nextMs, shm_->turn()) : nextMs;
  };
  service_ = std::make_unique<ServiceThread>(std::move(hooks));
  if (shm_) service_->post([this] { shm_->start(); });
  if (options_.transport != "shm") tcp_ = std::make_unique<TcpTransport>(*this);
  pool_->onGone(
      [](void* self, uint32_t arena) {
        auto* device = static_cast<SoftDevice*>(self);
        device->service_->post([device, arena] {
          if (device->shm_) device->shm_->arenaGone(arena);
        });
      },
      this);
}

SoftDevice::~SoftDevice() { close(); }

void SoftDevice::close() {
  if (closed_.exchange(true)) return;
  endChannels();
  pool_->onGone(nullptr, nullptr);
  eachQp([](const std::shared_ptr<QueuePair>& qp) { qp->fail(kFlushed); });
  if (tcp_) tcp_->stop();
  service_->stop();
  std::lock_guard guard(unfinishedLock_);
  unfinished_.clear();
}

void SoftDevice::abandon(const Failure& why) noexcept {
  if (closed_ || removed_.exchange(true)) return;
  eachQpWithoutMemory([](QueuePair& qp) { qp.fail(kFatal); });
  try {
    events().publish({"deviceRemoved", std::string("The soft device cannot be used any more: ") + why.what(), 0, 0});
  } catch (const std::exception&) {
    // The next call on the device reports it.
  }
}

void SoftDevice::checkUsable() const {
  if (removed_)
    throw Failure("ERR_RDMC_DEVICE_REMOVED", "The soft device cannot be used any more: close it, and open another");
}

uint16_t SoftDevice::tcpPort() const { return tcp_ ? tcp_->port() : 0; }

// ---- protection domains and regions

uint32_t SoftDevice::createProtectionDomain() {
  checkUsable();
  std::lock_guard guard(objects_);
  pds_.push_back(true);  // a number is used once, so that a stale one is seen
  return uint32_t(pds_.size() - 1);
}

void SoftDevice::checkProtectionDomain(uint32_t pd) {
  std::lock_guard guard(objects_);
  if (pd < pds_.size() && pds_[pd]) return;
  throw Failure("ERR_RDMC_PROTECTION_DOMAIN_CLOSED", "The protection domain is closed");
}

void SoftDevice::destroyProtectionDomain(uint32_t pd) {
  checkProtectionDomain(pd);
  uint32_t users = regions_.count(pd);
  eachQp([&](const std::shared_ptr<QueuePair>& qp) { users += qp->protectionDomain() == pd; });
  if (users > 0) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_BUSY",
                  std::to_string(users) + " regions or queue pairs still use the protection domain: close them first");
  }
  std::lock_guard guard(objects_);
  if (pd < pds_.size()) pds_[pd] = false;
}

uint32_t SoftDevice::allocateRegion(uint32_t pd, uint64_t length, uint32_t access) {
  checkUsable();
  checkProtectionDomain(pd);
  auto extent = pool_->allocate(length);
  ArenaPool::populate(*extent);
  return regions_.addExtent(std::move(extent), length, access, pd);
}

uint32_t SoftDevice::allocateUnpopulated(uint32_t pd, uint64_t length, uint32_t access) {
  checkUsable();
  checkProtectionDomain(pd);
  return regions_.addExtent(pool_->allocate(length, true), length, access, pd);
}

uint32_t SoftDevice::allocateWithoutHostAccess(uint32_t pd, uint64_t length, uint32_t access) {
  checkUsable();
  checkProtectionDomain(pd);
  auto extent = pool_->allocate(length);
  ArenaPool::populate(*extent);
  Mapping inaccessible = mapInaccessible(*extent);
  return regions_.addExtent(std::move(extent), length, access, pd, std::move(inaccessible));
}

uint32_t SoftDevice::registerRegion(uint32_t pd, uint8_t* memory, uint64_t length, uint32_t access) {
  checkUsable();
  checkProtectionDomain(pd);
  return regions_.addForeign(reinterpret_cast<uint64_t>(memory), length, access, pd);
}

void SoftDevice::revokeRegion(uint32_t region) {
  regions_.revoke(region);
  quiesceRegion(RegionTable::indexOf(region));
}

void SoftDevice::closeRegion(uint32_t region) {
  regions_.retire(region);
  const uint32_t index = RegionTable::indexOf(region);
  regions_.hideRetired(index);
  Rollback valid([&] { regions_.restore(index); });
  quiesceRegion(index);
  valid.dismiss();
  std::lock_guard guard(relocation_);
  regions_.remove(index);
}

void SoftDevice::evictRegion(uint32_t region) {
  if (!regions_.evict(region)) return;
  const uint32_t index = RegionTable::indexOf(region);
  regions_.hideRetired(index);
  // Peers over shared memory cannot map it.
  if (tcp_) tcp_->quiesceRegion(index);
  const Region& memory = regions_.slot(index);
  if (memory.outstanding.load() > 0) eachQpWithoutMemory([&](QueuePair& qp) { qp.failIfUsing(memory); });
  std::lock_guard guard(relocation_);
  regions_.remove(index);
}

// ---- channels and completion queues

int SoftDevice::createChannel() {
  checkUsable();
  std::lock_guard guard(objects_);
  channels_.push_back(std::make_shared<SoftChannel>());
  return int(channels_.size() - 1);
}

std::shared_ptr<SoftChannel> SoftDevice::channelAt(int id) {
  std::lock_guard guard(objects_);
  return channelHere(id);
}

std::shared_ptr<SoftChannel>& SoftDevice::channelHere(int id) {
  if (id < 0 || size_t(id) >= channels_.size() || !channels_[size_t(id)]) {
    throw Failure("ERR_RDMC_CHANNEL_CLOSED", "The completion channel is closed");
  }
  return channels_[size_t(id)];
}

void SoftDevice::destroyChannel(int id) {
  std::lock_guard guard(objects_);
  auto& mine = channelHere(id);
  if (mine->users > 0) {
    throw Failure("ERR_RDMC_CHANNEL_BUSY", "Completion queues still use the channel: close them first");
  }
  mine->end();
  mine.reset();
}

void SoftDevice::endChannels() {
  std::lock_guard guard(objects_);
  for (const auto& channel : channels_) {
    if (channel) channel->end();
  }
}

uint32_t SoftDevice::createCompletionQueue(uint32_t, int channelId) {
  checkUsable();
  std::lock_guard guard(objects_);
  const auto used = channelId < 0 ? nullptr : channelHere(channelId);
  for (uint32_t i = 0; i < kMaxCqs; ++i) {
    if (cqs_[i]) continue;
    cqs_[i] = std::make_shared<SoftCompletionQueue>(i, control_.cq(i), used);
    if (used) ++used->users;
    cqGenerations_[i] = (cqGenerations_[i] + 1) % kCqGenerations;
    return i | cqGenerations_[i] << kCqIndexBits;
  }
  throw Failure("ERR_RDMC_DEVICE_LIMIT", "The device has " + std::to_string(kMaxCqs) + " completion queues already");
}

std::shared_ptr<SoftCompletionQueue> SoftDevice::cqAt(uint32_t handle) {
  std::lock_guard guard(objects_);
  return cqHere(handle);
}

std::shared_ptr<SoftCompletionQueue> SoftDevice::cqHere(uint32_t handle) {
  const uint32_t index = handle & (kMaxCqs - 1);
  if (!cqs_[index] || cqGenerations_[index] != handle >> kCqIndexBits) {
    throw Failure("ERR_RDMC_COMPLETION_QUEUE_CLOSED", "The completion queue is closed");
  }
  return cqs_[index];
}

std::shared_ptr<SoftCompletionQueue> SoftDevice::useCq(uint32_t handle) {
  std::lock_guard guard(objects_);
  auto queue = cqHere(handle);
  ++queue->users;
  return queue;
}

void SoftDevice::destroyCompletionQueue(uint32_t handle) {
  std::lock_guard guard(objects_);
  const auto queue = cqHere(handle);
  if (queue->users > 0) {
    throw Failure("ERR_RDMC_COMPLETION_QUEUE_BUSY", "Queue pairs still use the completion queue: close them first");
  }
  if (queue->channel()) --queue->channel()->users;
  cqs_[queue->index()].reset();
}

uint32_t SoftDevice::poll(CompletionQueue& queue, CompletionSlot* out, uint32_t max) {
  auto& cq = static_cast<SoftCompletionQueue&>(queue);
  uint32_t count = cq.take(out, max);
  auto& ready = cq.shared().ready;
  // A queue pair whose number the caller knows was counted before that number was handed out.
  const uint32_t words = highestQp_.load(std::memory_order_acquire) / 64 + 1;
  for (uint32_t word = 0; word < words && count < max; ++word) {
    if (ready[word].load(std::memory_order_relaxed) == 0) continue;
    uint64_t bits = ready[word].exchange(0, std::memory_order_seq_cst);
    while (bits != 0) {
      const uint32_t index = word * 64 + uint32_t(__builtin_ctzll(bits));
      bits &= bits - 1;
      if (count == max) {
        ready[word].fetch_or(1ull << (index % 64));
        continue;
      }
      std::shared_ptr<QueuePair> qp;
      {
        std::lock_guard guard(tableLock_);
        qp = qps_[index];
      }
      if (qp && qp->receiveCq().get() == &cq) count += qp->mergeInbound(out + count, max - count);
    }
  }
  return count;
}

// ---- queue pairs

uint32_t SoftDevice::takeQpIndex() {
  std::lock_guard guard(tableLock_);
  for (uint32_t i = 1; i < kMaxQps; ++i) {
    if (qpPageTaken_[i]) continue;
    qpPageTaken_[i] = true;
    highestQp_.store(std::max(highestQp_.load(std::memory_order_relaxed), i), std::memory_order_release);
    return i;
  }
  throw Failure("ERR_RDMC_DEVICE_LIMIT", "The device has " + std::to_string(kMaxQps - 1) + " queue pairs already");
}

uint32_t SoftDevice::createQueuePair(const QueuePairParameters& parameters) {
  if (parameters.sharedReceiveQueue != 0) createSharedReceiveQueue(parameters.pd, 0);  // throws: there are none
  checkUsable();
  const uint32_t receives = parameters.receiveDepth, sends = parameters.sendDepth;
  if (receives == 0 || receives > kMaxReceiveDepth || sends == 0 || sends > kMaxSendDepth) {
    throw Failure("ERR_RDMC_DEVICE_LIMIT", "A queue is deeper than the device allows");
  }
  checkProtectionDomain(parameters.pd);
  const auto send = useCq(parameters.sendCq);
  Rollback leaveSend([&] { --send->users; });
  const auto receive = useCq(parameters.receiveCq);
  Rollback leaveReceive([&] { --receive->users; });
  const uint32_t index = takeQpIndex();
  Rollback freeIndex([&] { freeQpIndex(index); });
  constexpr uint32_t kGenerations = 1u << (32 - kQpIndexBits);
  qpGeneration_[index] = (qpGeneration_[index] + 1) % kGenerations;
  const uint32_t number = index | qpGeneration_[index] << kQpIndexBits;
  auto made = std::make_shared<QueuePair>(*this, number, parameters, send, receive);
  leaveSend.dismiss();
  leaveReceive.dismiss();
  freeIndex.dismiss();
  std::lock_guard guard(tableLock_);
  qps_[index] = std::move(made);
  return number;
}

std::shared_ptr<QueuePair> SoftDevice::qp(uint32_t number) {
  std::lock_guard guard(tableLock_);
  const auto& found = qps_[number & (kMaxQps - 1)];
  return found && found->number() == number ? found : nullptr;
}

std::shared_ptr<QueuePair> SoftDevice::qpAt(uint32_t number) {
  auto found = qp(number);
  if (!found) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed");
  return found;
}

SoftTransport& SoftDevice::transportTo(const SoftAddress& remote) const {
  const bool sameHost = remote.hostId == hostId_;
  const bool tcp = options_.transport == "tcp" || remote.transport == "tcp" || !sameHost;
  if (!tcp) return *shm_;
  if (tcp_ && remote.tcpPort != 0) return *tcp_;
  throw Failure("ERR_RDMC_CONNECT_FAILED",
                sameHost ? "One side is forced to shared memory, the other to TCP: choose the same transport"
                         : "The peer is on another host, or runs as another user, and one side is forced to shared "
                           "memory: use transport 'auto' or 'tcp'");
}

void SoftDevice::connect(uint32_t number, const AddressFields& remote, const ConnectParameters& parameters,
                         ConnectCallback done) {
  const SoftAddress to = SoftAddress::read(remote);
  checkUsable();
  const auto found = qpAt(number);
  if (found->state() != kInit || found->connecting.exchange(true)) {
    throw Failure("ERR_RDMC_QUEUE_PAIR_STATE", "The queue pair is connected, or connecting, already");
  }
  Rollback idle([&] { found->connecting = false; });
  SoftTransport& transport = transportTo(to);
  idle.dismiss();
  transport.connect(found, to, parameters, [found, done = std::move(done)](const Failure* failure) {
    if (failure) found->connecting = false;
    done(failure);
  });
}

void SoftDevice::destroyQueuePair(uint32_t number) {
  const auto found = qpAt(number);
  {
    std::lock_guard guard(found->sendLock);
    if (!found->failLocked(kFlushed)) {
      throw Failure("ERR_RDMC_QUEUE_PAIR_BUSY",
                    "A stopped peer may still write through the queue pair, and there is no fresh memory to put in the "
                    "place of what it writes to: close the queue pair again later, or the device");
    }
    if (found->wire()) found->wire()->detach(*found);
  }
  {
    // Not earlier: a thread that revokes a region meanwhile must still see that the peer may be busy here.
    std::lock_guard guard(tableLock_);
    if (qps_[found->index()] != found) throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed");
    qps_[found->index()].reset();
  }
  found->leaveQueues();
  waits_.closed(number);
  found->sendCq()->purge(number);
  found->receiveCq()->purge(number);
  if (const auto& wire = found->wire()) return wire->transport().release(found);
  const uint32_t index = found->index();
  if (!service_->post([this, index] { freeQpIndex(index); })) freeQpIndex(index);
}

void SoftDevice::freeQpIndex(uint32_t index) {
  control_.qp(index).number.store(0);
  std::lock_guard guard(tableLock_);
  qpPageTaken_[index] = false;
}

}  // namespace rdmc
