// A region of an RDMA device is closed, and its slot taken by another one, at the first moment in which the thread that
// revokes it would have to wait for a lock: no peer may lose the other one.
//   ibv-revoke LIBRARY DEVICE
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>

#include "ibv/device.h"

namespace {

// Called once it is set, before each lock that the device takes on this thread.
thread_local std::function<void()> beforeLocking;

}  // namespace

// In place of the C library's.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const next = reinterpret_cast<decltype(&pthread_mutex_lock)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  Dl_info caller{}, self{};
  const bool ours = beforeLocking && ::dladdr(__builtin_return_address(0), &caller) != 0 &&
                    ::dladdr(reinterpret_cast<void*>(&pthread_mutex_lock), &self) != 0 &&
                    caller.dli_fbase == self.dli_fbase;
  if (ours) beforeLocking();
  return next(mutex);
}

namespace rdmc {
namespace {

struct End {
  explicit End(const IbvOptions& options) : device(std::make_shared<IbvDevice>(options)) {
    QueuePairParameters parameters;
    parameters.pd = pd = device->createProtectionDomain();
    cq = parameters.sendCq = parameters.receiveCq = device->createCompletionQueue(16, -1);
    parameters.sendDepth = parameters.receiveDepth = 4;
    qp = device->createQueuePair(parameters);
  }
  std::future<bool> connect(const End& to) {
    auto done = std::make_shared<std::promise<bool>>();
    device->connect(qp, to.device->addressOf(to.qp), {}, [done](const Failure* failure) { done->set_value(!failure); });
    return done->get_future();
  }
  uint32_t allocate() { return device->allocateRegion(pd, 4096, kLocalWrite | kRemoteWrite); }
  std::shared_ptr<IbvDevice> device;
  uint32_t pd = 0, cq = 0, qp = 0;
};

int run(const IbvOptions& options) {
  End a(options), b(options);
  auto one = a.connect(b), other = b.connect(a);
  if (!one.get() || !other.get()) return 2;
  const uint32_t from = a.allocate(), revoked = b.allocate();
  const Region& slot = b.device->regions().at(revoked);
  uint32_t next = 0;
  const auto replace = [&] {
    b.device->closeRegion(revoked);
    next = b.allocate();
  };
  beforeLocking = [&] {
    if (!slot.revoked) return;
    beforeLocking = nullptr;
    replace();
  };
  b.device->revokeRegion(revoked);
  beforeLocking = nullptr;
  if (next == 0) replace();
  if (RegionTable::indexOf(next) != RegionTable::indexOf(revoked)) return 2;

  const Region& source = a.device->regions().at(from);
  const uint64_t target = b.device->regions().at(next).address;
  WorkRequestSlot write{};
  write.opcode = kWrite;
  write.queuePair = a.qp;
  write.flags = kSignaled;
  write.sgeCount = 1;
  write.sge[0] = {uint32_t(source.address), uint32_t(source.address >> 32), 64, source.key};
  write.remoteLow = uint32_t(target);
  write.remoteHigh = uint32_t(target >> 32);
  write.rkey = b.device->remoteKey(next);
  if (a.device->post(&write, 1) != 0) return 2;
  const auto queue = a.device->completionQueue(a.cq);
  CompletionSlot done{};
  while (a.device->poll(*queue, &done, 1) == 0) {
  }
  if (done.status != kSuccess) std::fprintf(stderr, "a WRITE to the region ended with status %u\n", done.status);
  a.device->close();
  b.device->close();
  return done.status == kSuccess ? 0 : 3;
}

}  // namespace
}  // namespace rdmc

int main(int count, char** arguments) {
  if (count != 3) return 2;
  rdmc::IbvOptions options;
  options.library = arguments[1];
  options.device = arguments[2];
  return rdmc::run(options);
}
