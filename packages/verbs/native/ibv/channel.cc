#include "ibv/channel.h"

#if RDMC_WITH_IBVERBS

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>

namespace rdmc {
namespace {

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw systemFailure("epoll_ctl", "Creating a completion channel", errno);
  }
}

}  // namespace

IbvChannel::IbvChannel(std::shared_ptr<const IbvLibrary> library, ibv_context* context)
    : library_(std::move(library)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!wake_.valid() || !epoll_.valid()) throw systemFailure("eventfd", "Creating a completion channel", errno);
  watch(epoll_.get(), wake_.get());
  channel_ = library_->create_comp_channel(context);
  if (!channel_) throw systemFailure("ibv_create_comp_channel", "Creating a completion channel", errno);
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  try {
    watch(epoll_.get(), channel_->fd);
  } catch (const Failure&) {
    library_->destroy_comp_channel(channel_);
    throw;
  }
}

void IbvChannel::drain() {
  drainWake();
  takeEvents();
}

void IbvChannel::take() {
  // Mostly one event woke the listener, and no other is pending: a queue raises one event when armed.
  if (!takeEvent()) drainWake();
}

void IbvChannel::drainWake() {
  uint64_t count;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
}

void IbvChannel::acknowledge() {
  if (takeEvents()) signal();
}

bool IbvChannel::takeEvent() {
  std::lock_guard guard(mutex_);
  ibv_cq* cq;
  void* context;
  if (!channel_ || library_->get_cq_event(channel_, &cq, &context) != 0) return false;
  library_->ack_cq_events(cq, 1);
  return true;
}

bool IbvChannel::takeEvents() {
  bool any = false;
  while (takeEvent()) any = true;
  return any;
}

void IbvChannel::signal() const {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void IbvChannel::release() {
  std::lock_guard guard(mutex_);
  if (!channel_) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, channel_->fd, nullptr);
  library_->destroy_comp_channel(channel_);
  channel_ = nullptr;
}

}  // namespace rdmc

#endif
