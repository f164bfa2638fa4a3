// A test's way to let a writer die in the middle of a one-sided WRITE. Off unless it is armed.
//
// Armed with n, the device places n more bytes of WRITEs in the order in which they are posted, whichever queue pairs
// they are on. The WRITE in which that ends is torn: exactly its first bytes reach the peer. What is posted from then
// on does not reach anybody. What was posted before is carried out.
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
  // The torn request has come to its end. `socket`: what the kernel still holds of it is delivered first.
  void strike(int socket = -1) const;

 private:
  std::atomic<bool> armed_{false}, kill_{false};
  std::mutex lock_;
  uint64_t left_ = 0;
  bool torn_ = false;
};

}  // namespace rdmc
