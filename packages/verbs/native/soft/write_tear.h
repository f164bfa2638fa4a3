// Lets a writer die in the middle of a one-sided WRITE, for tests. Off unless it is armed.
//
// Armed with n, the device places n more bytes of WRITEs in the order in which they are posted, on all queue pairs
// together. The WRITE in which that ends is torn: only its first bytes reach the peer. Requests that are posted later
// do not reach a peer. Requests that were posted before are carried out.
//
//   posted    WRITE 100   WRITE 100   WRITE 100   SEND        armed with 130
//   placed    100         30          nothing     nothing
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace rdmc {

class WriteTear {
 public:
  // With `kill` the process ends by SIGKILL where the torn WRITE ends; else its queue pair breaks.
  void arm(uint64_t afterBytes, bool kill);
  bool armed() const { return armed_.load(std::memory_order_acquire); }
  // Called once for every request, when it is posted. True when it is torn: `placed` of its bytes reach the peer.
  bool tears(uint32_t opcode, uint64_t length, uint64_t& placed);
  // The torn request ends here. `socket`: the bytes of it that the kernel still holds are delivered first.
  void strike(int socket = -1) const;

 private:
  std::atomic<bool> armed_{false}, kill_{false};
  std::mutex lock_;
  uint64_t left_ = 0;
  bool torn_ = false;
};

}  // namespace rdmc
