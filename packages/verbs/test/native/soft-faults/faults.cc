#include "faults.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace rdmc::faults {

int failingAccepts = 0, failingWatches = 0, freshMappings = -1;
bool noFiles = false;
thread_local bool noMemory = false;

namespace {

std::atomic<const char*> doomed{nullptr};
std::atomic<time_t> passed{0};

void maybeThrow() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  const char* wanted = doomed.load();
  if (!wanted || std::strcmp(name, wanted) != 0) return;
  doomed = nullptr;
  throw std::bad_alloc();
}

struct Armed {
  uint8_t* at = nullptr;
  size_t length = 0;
  std::function<void()> then;
  volatile bool sprung = false;
} armed;

void onFault(int signal, siginfo_t* info, void*) {
  auto* address = static_cast<uint8_t*>(info->si_addr);
  if (armed.sprung || address < armed.at || address >= armed.at + armed.length) {
    ::signal(signal, SIG_DFL);  // not ours: it happens again, and ends the process
    return;
  }
  armed.sprung = true;
  armed.then();
  ::mprotect(armed.at, armed.length, PROT_READ | PROT_WRITE);
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void doom(const char* thread) { doomed = thread; }
void pass(std::chrono::seconds time) { passed += time.count(); }

Trap::Trap(void* at, size_t length, int protection, std::function<void()> then) {
  armed.at = static_cast<uint8_t*>(at);
  armed.length = length;
  armed.then = std::move(then);
  armed.sprung = false;
  struct sigaction action {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::mprotect(at, length, protection);
}

Trap::~Trap() {
  ::mprotect(armed.at, armed.length, PROT_READ | PROT_WRITE);
  armed.at = nullptr;
  armed.length = 0;
}

bool Trap::sprung() const { return armed.sprung; }

}  // namespace rdmc::faults

void* operator new(size_t bytes) {
  void* memory = rdmc::faults::noMemory ? nullptr : std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

// These stand in front of the C library's.
extern "C" {

int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
  using namespace rdmc::faults;
  static auto* const next = real<decltype(epoll_wait)>("epoll_wait");
  const int result = next(epoll, events, count, timeout);
  maybeThrow();
  return result;
}

// What the clocks of the C++ library call, which sees this function only if it is exported.
[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using namespace rdmc::faults;
  static auto* const next = real<decltype(clock_gettime)>("clock_gettime");
  const int result = next(clock, time);
  time->tv_sec += passed;
  return result;
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  using namespace rdmc::faults;
  static auto* const next = real<decltype(epoll_ctl)>("epoll_ctl");
  int listens = 0;
  socklen_t length = sizeof listens;
  ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
  if (operation == EPOLL_CTL_ADD && listens && failingWatches > 0) {
    --failingWatches;
    errno = ENOSPC;
    return -1;
  }
  return next(epoll, operation, fd, event);
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  using namespace rdmc::faults;
  static auto* const next = real<decltype(accept4)>("accept4");
  if (failingAccepts > 0) {
    --failingAccepts;
    errno = EMFILE;
    return -1;
  }
  return next(fd, address, length, flags);
}

int memfd_create(const char* name, unsigned flags) noexcept {
  using namespace rdmc::faults;
  static auto* const next = real<decltype(memfd_create)>("memfd_create");
  if (noFiles) {
    errno = EMFILE;
    return -1;
  }
  return next(name, flags);
}

// What mmap is called where files may be large.
void* mmap64(void* at, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  using namespace rdmc::faults;
  static auto* const next = real<decltype(mmap64)>("mmap64");
  // Whole arenas are mapped in one call, from their beginning, and are larger.
  const bool fresh = (flags & MAP_FIXED) && fd >= 0 && length <= 64 << 10;
  if (fresh && freshMappings == 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (fresh && freshMappings > 0) --freshMappings;
  return next(at, length, protection, flags, fd, offset);
}
}
