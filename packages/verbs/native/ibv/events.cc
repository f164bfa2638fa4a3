#include "ibv/events.h"

#if RDMC_WITH_IBVERBS

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace rdmc {
namespace {

// Drivers without hot removal (rdma_rxe) wait for the last user and do not tell it. But the entry of the device file
// has left sysfs, so the event thread checks that now and then.
constexpr int kPresenceCheckMs = 1000;

struct Named {
  ibv_event_type event;
  const char* type;
  const char* message;
};
constexpr Named kPortEvents[] = {
    {IBV_EVENT_PORT_ACTIVE, "portActive", "is active"},
    {IBV_EVENT_PORT_ERR, "portDown", "is down"},
    {IBV_EVENT_LID_CHANGE, "addressChange", "has another LID"},
    {IBV_EVENT_GID_CHANGE, "addressChange", "has other GIDs"},
};
constexpr Named kQueuePairEvents[] = {
    {IBV_EVENT_QP_FATAL, "queuePairFatal", "failed in the device"},
    {IBV_EVENT_QP_REQ_ERR, "queuePairFatal", "was sent an invalid request"},
    {IBV_EVENT_QP_ACCESS_ERR, "queuePairFatal", "was sent a request that violates access rights"},
};

uint32_t queuePairOf(const ibv_async_event& event) {
  return uint32_t(reinterpret_cast<uintptr_t>(event.element.qp->qp_context));
}

}  // namespace

IbvEvents::IbvEvents(Parts parts) : parts_(std::move(parts)), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_.valid()) throw systemFailure("eventfd", "Opening the device", errno);
  const int asyncFd = parts_.context.hardware()->async_fd;
  ::fcntl(asyncFd, F_SETFL, ::fcntl(asyncFd, F_GETFL) | O_NONBLOCK);
  thread_ = std::thread([this] { watch(); });
}

void IbvEvents::stop() const {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
}

void IbvEvents::join() {
  if (thread_.joinable()) thread_.join();
}

// This is the outermost frame: an exception that leaves it would end the process.
void IbvEvents::watch() {
  try {
    run();
  } catch (const std::exception&) {
    try {
      parts_.abandon(caughtFailure().what());
    } catch (const std::exception&) {
      // Everything is refused since `removed` was set; what was not released is released with the device.
    }
  }
}

void IbvEvents::run() {
  const IbvContext& context = parts_.context;
  const int asyncFd = context.hardware()->async_fd;
  for (;;) {
    pollfd watched[] = {{stop_.get(), POLLIN, 0}, {asyncFd, POLLIN, 0}};
    const int ready = ::poll(watched, 2, context.canDisappear() ? kPresenceCheckMs : -1);
    if (ready < 0 && errno != EINTR) return;
    if (context.closed) return;
    ibv_async_event event;
    if (ready > 0 && watched[1].revents != 0) {
      if (context.library().get_async_event(context.hardware(), &event) == 0) {
        handle(event);
      } else if (watched[1].revents & (POLLERR | POLLHUP)) {
        parts_.abandon("its driver is gone");
      }
    }
    if (!context.removed && !context.stillThere()) parts_.abandon("it was removed");
    if (context.removed) return;
  }
}

AsyncEvent IbvEvents::describe(const ibv_async_event& event) const {
  const std::string& name = parts_.context.name();
  AsyncEvent out;
  for (const Named& named : kPortEvents) {
    if (named.event != event.event_type) continue;
    out.type = named.type;
    out.port = uint32_t(event.element.port_num);
    out.message = "Port " + std::to_string(out.port) + " of " + name + " " + named.message;
  }
  for (const Named& named : kQueuePairEvents) {
    if (named.event != event.event_type) continue;
    out.type = named.type;
    out.queuePair = queuePairOf(event);
    out.message = "Queue pair " + std::to_string(out.queuePair) + " " + named.message;
  }
  if (event.event_type == IBV_EVENT_CQ_ERR) {
    out.type = "completionQueueError";
    out.message = "A completion queue of " + name + " failed; its queue pairs cannot be used any more";
  }
  return out;
}

void IbvEvents::handle(ibv_async_event& event) {
  const ibv_event_type type = event.event_type;
  const AsyncEvent out = describe(event);
  const uint32_t last = type == IBV_EVENT_QP_LAST_WQE_REACHED ? queuePairOf(event) : 0;
  if (type == IBV_EVENT_CQ_ERR) loseQueue(event.element.cq->cq_context);
  // Destroying the object waits for this.
  parts_.context.library().ack_async_event(&event);
  if (out.queuePair != 0) {
    if (const auto found = parts_.table.find(out.queuePair)) found->state = kError;
  }
  if (last != 0) parts_.errors.lastReached(last);
  const bool ours = out.port == parts_.context.options().port;
  if (ours) parts_.port.refresh();
  if (!out.type.empty()) parts_.published.publish(out);
  // Published first, so that the reader of the flushed completions can know the reason.
  if (type == IBV_EVENT_PORT_ERR && ours && parts_.context.isSoftRoce()) flushUnderWay();
  if (type == IBV_EVENT_DEVICE_FATAL) parts_.abandon("it reported a fatal error");
}

// Where a send fails because the port is down, rdma_rxe of Linux 6.1 stops the queue pair's timer: a send that waits
// for its acknowledgement in front of it is neither tried again nor completed. So queue pairs with sends under way are
// broken here. Later sends have nothing in front of them, and the device reports that they fail.
void IbvEvents::flushUnderWay() {
  std::shared_lock gate(parts_.context.gate);
  for (const auto& each : parts_.table.all()) {
    if (each->state != kRts || each->sends.empty()) continue;
    // The completions wake their listeners.
    parts_.errors.toError(*each);
  }
}

// What a failed completion queue held is lost, so its queue pairs are flushed here.
void IbvEvents::loseQueue(const void* cq) {
  for (const auto& each : parts_.table.all()) {
    if (each->sendCq.get() != cq && each->receiveCq.get() != cq) continue;
    std::lock_guard control(each->control);
    if (!each->closed) parts_.errors.lose(*each, kFatal);
  }
  parts_.completionQueues.fail(cq);
}

}  // namespace rdmc

#endif
