#include "core/async_events.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "core/failure.h"

namespace rdmc {
namespace {
constexpr size_t kMaxWaiting = 1024;
}

int AsyncEvents::subscribe() {
  Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) throw systemFailure("eventfd", "Listening to the device's events", errno);
  std::lock_guard guard(mutex_);
  listeners_[nextId_].fd = std::move(fd);
  return nextId_++;
}

void AsyncEvents::unsubscribe(int id) {
  std::lock_guard guard(mutex_);
  listeners_.erase(id);
}

int AsyncEvents::fd(int id) {
  std::lock_guard guard(mutex_);
  const auto found = listeners_.find(id);
  return found == listeners_.end() ? -1 : found->second.fd.get();
}

std::vector<AsyncEvent> AsyncEvents::take(int id) {
  std::lock_guard guard(mutex_);
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return {};
  std::vector<AsyncEvent> taken(found->second.waiting.begin(), found->second.waiting.end());
  found->second.waiting.clear();
  return taken;
}

void AsyncEvents::publish(const AsyncEvent& event) {
  std::lock_guard guard(mutex_);
  for (auto& [id, listener] : listeners_) {
    if (listener.waiting.size() == kMaxWaiting) listener.waiting.pop_front();
    listener.waiting.push_back(event);
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(listener.fd.get(), &one, sizeof one);
  }
}

}  // namespace rdmc
