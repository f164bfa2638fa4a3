#include "control_segment.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "failure.h"

namespace rdmc {

void SpinLock::pause() { ::sched_yield(); }

namespace {

Mapping mapWhole(int fd) {
  if (void* shared = sharedMapping(fd)) return Mapping(shared, kControlBytes);
  void* base = ::mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) throw systemFailure("mmap", "Mapping a control segment", errno);
  shareMapping(fd, base);
  return Mapping(base, kControlBytes);
}

}  // namespace

ControlSegment ControlSegment::create(const DeviceId& id) {
  ControlSegment segment;
  segment.fd_ = Fd(::memfd_create("rdmc-control", MFD_CLOEXEC));
  if (!segment.fd_.valid()) throw systemFailure("memfd_create", "Creating a control segment", errno);
  if (::ftruncate(segment.fd_.get(), kControlBytes) != 0) {
    throw systemFailure("ftruncate", "Sizing a control segment", errno);
  }
  segment.memory_ = mapWhole(segment.fd_.get());
  Header& header = segment.header();
  header.pid = ::getpid();
  header.id = id;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&header.liveness, &attributes);
  pthread_mutexattr_destroy(&attributes);
  header.version = kControlVersion;
  header.magic = kControlMagic;
  return segment;
}

ControlSegment ControlSegment::map(const Fd& fd) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || size_t(info.st_size) != kControlBytes) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION", "The peer's control segment has another size: another version of @rdmc/verbs");
  }
  ControlSegment segment;
  segment.memory_ = mapWhole(fd.get());
  const Header& header = segment.header();
  if (header.magic != kControlMagic || header.version != kControlVersion) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION",
                  "The peer's control segment is of version " + std::to_string(header.version) + ", ours of " +
                      std::to_string(kControlVersion) + ": use the same @rdmc/verbs everywhere");
  }
  return segment;
}

void ControlSegment::holdLiveness() { pthread_mutex_lock(&header().liveness); }

void ControlSegment::releaseLiveness() { pthread_mutex_unlock(&header().liveness); }

bool ControlSegment::alive() const {
  // glibc keeps the futex word first; the kernel clears the thread id and sets FUTEX_OWNER_DIED.
  const auto* word = reinterpret_cast<const std::atomic<uint32_t>*>(&header().liveness);
  return (word->load(std::memory_order_acquire) & FUTEX_TID_MASK) != 0;
}

}  // namespace rdmc
