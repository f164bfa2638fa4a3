#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "core/failure.h"
#include "soft/tcp/nic.h"

namespace rdmc {

TcpInbox::TcpInbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.valid()) throw systemFailure("eventfd", "Starting the TCP transport", errno);
}

bool TcpInbox::post(Job job) {
  {
    std::lock_guard guard(mutex_);
    if (closed_) return false;
    jobs_.push_back(std::move(job));
  }
  wake();
  return true;
}

void TcpInbox::mark(std::shared_ptr<TcpWire> wire) {
  {
    std::lock_guard guard(mutex_);
    if (closed_) return;
    marked_.push_back(std::move(wire));
  }
  wake();
}

void TcpInbox::mark(std::vector<std::shared_ptr<TcpWire>>&& wires) {
  {
    std::lock_guard guard(mutex_);
    if (closed_) return;
    std::move(wires.begin(), wires.end(), std::back_inserter(marked_));
  }
  wake();
}

void TcpInbox::wake() {
  // A NIC that is awake reads this before it sleeps.
  if (sleeping_.exchange(false, std::memory_order_seq_cst)) ring();
}

void TcpInbox::ring() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);  // full: already readable
}

void TcpInbox::drain() {
  uint64_t count;
  [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

bool TcpInbox::take(std::vector<Job>& jobs, std::vector<std::shared_ptr<TcpWire>>& marked) {
  std::lock_guard guard(mutex_);
  jobs.swap(jobs_);
  marked.swap(marked_);
  return !jobs.empty() || !marked.empty();
}

bool TcpInbox::goToSleep() {
  sleeping_.store(true, std::memory_order_seq_cst);
  std::lock_guard guard(mutex_);
  if (jobs_.empty() && marked_.empty()) return true;
  sleeping_.store(false, std::memory_order_seq_cst);
  return false;
}

void TcpInbox::close() {
  std::lock_guard guard(mutex_);
  closed_ = true;
}

}  // namespace rdmc
