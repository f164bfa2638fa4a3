#include "soft/write_tear.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

#include "core/constants.h"

namespace rdmc {
namespace {

constexpr int kDeliveryTries = 2000;
constexpr useconds_t kDeliveryPauseUs = 1000;

// Bytes that the peer's kernel has not acknowledged would go with a socket that is closed.
void waitForDelivery(int socket) {
  for (int i = 0, unsent = 0; i < kDeliveryTries; ++i) {
    if (::ioctl(socket, SIOCOUTQ, &unsent) != 0 || unsent == 0) return;
    ::usleep(kDeliveryPauseUs);
  }
}

}  // namespace

void WriteTear::arm(uint64_t afterBytes, bool kill) {
  std::lock_guard guard(lock_);
  left_ = afterBytes;
  torn_ = false;
  kill_.store(kill);
  armed_.store(true, std::memory_order_release);
}

bool WriteTear::tears(uint32_t opcode, uint64_t length, uint64_t& placed) {
  std::lock_guard guard(lock_);
  placed = 0;
  if (torn_) return true;
  if (opcode != kWrite && opcode != kWriteWithImm) return false;
  if (length <= left_) {
    left_ -= length;
    return false;
  }
  placed = left_;
  torn_ = true;
  return true;
}

void WriteTear::strike(int socket) const {
  if (socket >= 0) waitForDelivery(socket);
  if (kill_.load()) ::kill(::getpid(), SIGKILL);
}

}  // namespace rdmc
