// A few native threads for calls that block. Threads are started when they are needed.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rdmc {

class WorkPool {
 public:
  ~WorkPool() { stop(); }
  // False when the pool is stopped: the work will not be done. Throws std::system_error where no thread can be started.
  // The work throws nothing.
  bool post(std::function<void()> work);
  // Returns when all work has ended; the caller's thread does the work that was not begun.
  void stop();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  uint32_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace rdmc
