// The device's own native thread: it connects to local peers, hands out memory, and continues requests that the posting
// thread could not finish. It also holds the liveness futex.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/failure.h"
#include "core/raii.h"

namespace rdmc {

// Of two times in milliseconds, where -1 is never.
inline int sooner(int oneMs, int otherMs) {
  return oneMs < 0 || otherMs < 0 ? std::max(oneMs, otherMs) : std::min(oneMs, otherMs);
}

class ServiceThread {
 public:
  using Job = std::function<void()>;
  using Handler = std::function<void(uint32_t events)>;
  struct Hooks {
    Job begin, end;
    // A job, a handler or a turn threw an exception: the thread does nothing more and ends.
    std::function<void(const Failure&)> failed;
    // Runs after every wake-up; returns milliseconds until it wants to run again, -1 for never.
    std::function<int()> turn;
  };

  explicit ServiceThread(Hooks hooks);
  ~ServiceThread();

  // From any thread: runs the job on the service thread. False when it has stopped.
  bool post(Job job);
  // From any thread: one more turn.
  void poke() const;
  void stop();

  // On the service thread only.
  void watch(int fd, uint32_t events, Handler handler);
  void rewatch(int fd, uint32_t events);
  void unwatch(int fd);
  bool isCurrent() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void run();
  void turns();  // until it is stopped
  void runJobs();
  Hooks hooks_;
  Fd epoll_, wake_;
  std::mutex mutex_;
  std::vector<Job> jobs_;
  bool stopped_ = false;
  std::atomic<bool> stopping_{false};
  std::unordered_map<int, std::shared_ptr<Handler>> handlers_;
  std::thread thread_;
};

}  // namespace rdmc
