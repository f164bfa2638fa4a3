#include "core/work_pool.h"

#include <system_error>

namespace rdmc {
namespace {
constexpr size_t kMaxThreads = 4;
}

bool WorkPool::post(std::function<void()> work) {
  std::lock_guard guard(mutex_);
  if (stopped_) return false;
  waiting_.push_back(std::move(work));
  if (idle_ < waiting_.size() && threads_.size() < kMaxThreads) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) {
        waiting_.pop_back();
        throw;
      }
      // The threads that run will take it.
    }
  }
  more_.notify_one();
  return true;
}

void WorkPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    more_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    --idle_;
    if (stopped_) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

void WorkPool::stop() {
  std::deque<std::function<void()>> left;
  {
    std::lock_guard guard(mutex_);
    stopped_ = true;
    left.swap(waiting_);
  }
  more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (const auto& work : left) work();
}

}  // namespace rdmc
