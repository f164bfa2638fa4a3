#include "soft/control_segment.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "core/failure.h"
#include "core/sealed_memory.h"

namespace rdmc {

void SpinLock::pause() { ::sched_yield(); }

// The list from which the kernel learns, when this thread ends in whatever way, that it held the futex. A robust
// pthread mutex keeps its list entry beside the futex, in memory that peers can write; unlocking it would then write
// to wherever they say. This one keeps all but the futex in private memory.
class RobustHold {
 public:
  explicit RobustHold(std::atomic<uint32_t>& futex) : futex_(futex) {
    entry_.next = &head_.list;
    head_.list.next = &entry_;
    head_.futex_offset = reinterpret_cast<intptr_t>(&futex_) - reinterpret_cast<intptr_t>(&entry_);
    head_.list_op_pending = nullptr;
    // Replaces the C library's list, which this thread does not use. Where the kernel does not have lists (an emulator of
    // another processor), peers notice the end of this process later: by its closed socket.
    [[maybe_unused]] const long result = ::syscall(SYS_set_robust_list, &head_, sizeof head_);
    futex_.store(uint32_t(::syscall(SYS_gettid)), std::memory_order_seq_cst);
  }
  ~RobustHold() {
    futex_.store(0, std::memory_order_seq_cst);
    head_.list.next = &head_.list;  // the kernel reads this again when the thread ends
    ::syscall(SYS_set_robust_list, nullptr, sizeof head_);
  }
  RobustHold(const RobustHold&) = delete;
  RobustHold& operator=(const RobustHold&) = delete;

 private:
  std::atomic<uint32_t>& futex_;
  robust_list_head head_{};
  robust_list entry_{};
};

namespace {

Mapping mapWhole(int fd) {
  if (void* shared = sharedMapping(fd)) return Mapping(shared, kControlBytes);
  void* base = ::mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) throw systemFailure("mmap", "Mapping a control segment", errno);
  shareMapping(fd, base);
  return Mapping(base, kControlBytes);
}

}  // namespace

ControlSegment::ControlSegment() = default;
ControlSegment::ControlSegment(ControlSegment&&) noexcept = default;
ControlSegment::~ControlSegment() = default;

ControlSegment ControlSegment::create(const DeviceId& id) {
  ControlSegment segment;
  segment.fd_ = createSealedMemory("rdmc-control", kControlBytes);
  segment.memory_ = mapWhole(segment.fd_.get());
  Header& header = segment.header();
  header.pid = ::getpid();
  header.id = id;
  header.version = kControlVersion;
  header.magic = kControlMagic;
  return segment;
}

ControlSegment ControlSegment::map(const Fd& fd) {
  requireSealed(fd, "The peer's control segment");
  if (memoryBytes(fd) != kControlBytes) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION",
                  "The peer's control segment has another size: another version of @rdmc/verbs");
  }
  ControlSegment segment;
  segment.memory_ = mapWhole(fd.get());
  const uint32_t magic = readOnce(segment.header().magic), version = readOnce(segment.header().version);
  if (magic != kControlMagic || version != kControlVersion) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION", "The peer's control segment is of version " + std::to_string(version) +
                                                   ", ours of " + std::to_string(kControlVersion) +
                                                   ": use the same @rdmc/verbs everywhere");
  }
  return segment;
}

void ControlSegment::holdLiveness() { hold_ = std::make_unique<RobustHold>(header().liveness); }

void ControlSegment::releaseLiveness() { hold_.reset(); }

bool ControlSegment::alive() const { return (header().liveness.load(std::memory_order_acquire) & FUTEX_TID_MASK) != 0; }

}  // namespace rdmc
