// Asynchronous events, and the end of a device: closed by its owner, or gone (unplugged, its driver unloaded,
// `rdma link delete`).
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/scatter_gather.h"
#include "ibv/device.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {
namespace {

// Drivers without hot removal (rdma_rxe) wait for the last user before they go and say nothing to it. What can be seen
// is that the entry of the device file has left sysfs, so the event thread looks there now and then.
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

}  // namespace

IbvDevice::~IbvDevice() {
  if (closed_.exchange(true)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stopEvents_.get(), &one, sizeof one);
  finish();
}

// Nobody behind this catches: an exception that got past would end the process.
void IbvDevice::watchEvents() {
  try {
    handleEvents();
  } catch (const std::exception&) {
    try {
      abandon(caughtFailure().what());
    } catch (const std::exception&) {
      // Everything is refused since `removed_` was set; what was not given back goes with the device.
    }
  }
}

void IbvDevice::handleEvents() {
  const int asyncFd = context_->async_fd;
  for (;;) {
    pollfd watched[] = {{stopEvents_.get(), POLLIN, 0}, {asyncFd, POLLIN, 0}};
    const int ready = ::poll(watched, 2, sysfsPath_.empty() ? -1 : kPresenceCheckMs);
    if (ready < 0 && errno != EINTR) return;
    if (closed_) return;
    ibv_async_event event;
    if (ready > 0 && watched[1].revents != 0) {
      if (library_->get_async_event(context_, &event) == 0) {
        handleEvent(event);
      } else if (watched[1].revents & (POLLERR | POLLHUP)) {
        abandon("its driver is gone");
      }
    }
    if (!removed_ && !stillThere()) abandon("it was removed");
    if (removed_) return;
  }
}

bool IbvDevice::stillThere() const { return sysfsPath_.empty() || ::access(sysfsPath_.c_str(), F_OK) == 0; }

void IbvDevice::handleEvent(const ibv_async_event& event) {
  ibv_async_event taken = event;
  AsyncEvent out;
  for (const Named& named : kPortEvents) {
    if (named.event != event.event_type) continue;
    out.type = named.type;
    out.port = uint32_t(event.element.port_num);
    out.message = "Port " + std::to_string(out.port) + " of " + options_.device + " " + named.message;
  }
  for (const Named& named : kQueuePairEvents) {
    if (named.event != event.event_type) continue;
    out.type = named.type;
    out.queuePair = uint32_t(reinterpret_cast<uintptr_t>(event.element.qp->qp_context));
    out.message = "Queue pair " + std::to_string(out.queuePair) + " " + named.message;
  }
  uint32_t last = 0;
  if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED) {
    last = uint32_t(reinterpret_cast<uintptr_t>(event.element.qp->qp_context));
  }
  const void* failed = nullptr;
  if (event.event_type == IBV_EVENT_CQ_ERR) {
    failed = event.element.cq->cq_context;
    out.type = "completionQueueError";
    out.message = "A completion queue of " + options_.device + " failed; its queue pairs cannot be used any more";
  }
  if (failed) loseQueue(failed);
  // Whoever destroys the object waits for this.
  library_->ack_async_event(&taken);
  if (out.queuePair != 0) {
    if (const auto found = qp(out.queuePair)) found->state = kError;
  }
  if (last != 0) {
    std::lock_guard guard(objects_);
    lastReached_.insert(last);
  }
  if (out.port == options_.port) refreshPort();
  if (!out.type.empty()) events().publish(out);
  // Told first, so that whoever takes the flushed requests can know why.
  if (event.event_type == IBV_EVENT_PORT_ERR && out.port == options_.port && isSoftRoce()) flushUnderWay();
  if (event.event_type == IBV_EVENT_DEVICE_FATAL) abandon("it reported a fatal error");
}

// Where a send fails because the port is down, rdma_rxe of Linux 6.1 stops the queue pair's timer: a send that waits
// for its acknowledgement in front of it is neither tried again nor completed. So queue pairs with sends under way are
// broken here. Later sends have nothing in front of them, and the device reports that they fail.
void IbvDevice::flushUnderWay() {
  std::shared_lock gate(gate_);
  for (const auto& each : allQueuePairs()) {
    if (each->state != kRts || each->sends.empty()) continue;
    // Whoever waits for the completions is woken by them.
    toError(*each);
  }
}

// What a failed completion queue held is lost, so its queue pairs are flushed here.
void IbvDevice::loseQueue(const void* cq) {
  for (const auto& each : allQueuePairs()) {
    if (each->sendCq.get() != cq && each->receiveCq.get() != cq) continue;
    std::lock_guard control(each->control);
    if (!each->closed) lose(*each, kFatal);
  }
  std::lock_guard guard(objects_);
  for (const auto& each : cqs_) {
    if (each.get() == cq) each->fail();
  }
}

// ---- the end

void IbvDevice::abandon(const std::string& why) {
  if (closed_ || removed_.exchange(true)) return;
  flushEverything();
  events().publish({"deviceRemoved", options_.device + " cannot be used any more: " + why, 0, 0});
  // Given back at once: a driver that waits for its last user can go on.
  releaseHardware();
}

void IbvDevice::flushEverything() {
  for (const auto& each : allQueuePairs()) {
    each->state = kError;
    each->sendCq->absorb();
    each->receiveCq->absorb();
    takeAway(*each);
    breakOff(*each);  // what the device flushes now is told here
    std::lock_guard guard(each->posting);
    flushHere(*each, kFatal);
  }
  std::lock_guard guard(objects_);
  for (const auto& channel : channels_) {
    if (channel) channel->wake();
  }
}

void IbvDevice::releaseHardware() {
  std::unique_lock gate(gate_);
  if (!context_) return;
  for (const auto& each : allQueuePairs()) {
    takeAway(*each);
    destroyLost(*each);
  }
  // Nobody makes or destroys any, and pollers look for shared receive queues: so not under `objects_`.
  for (const auto& queue : shared_) {
    if (!queue) continue;
    std::lock_guard lock(queue->lock);
    if (ibv_srq* mine = std::exchange(queue->srq, nullptr)) library_->destroy_srq(mine);
    queue->dropAll();
  }
  for (const auto& queue : cqs_) {
    if (queue) queue->release();
  }
  for (const auto& channel : channels_) {
    if (channel) channel->release();
  }
  deregisterAll();
  for (ProtectionDomain& mine : pds_) {
    if (mine.pd) library_->dealloc_pd(std::exchange(mine.pd, nullptr));
  }
  library_->close_device(std::exchange(context_, nullptr));
}

void IbvDevice::deregisterAll() {
  std::lock_guard guard(registrations_);
  for (uint32_t i = 0; i < kMaxRegions; ++i) {
    if (ibv_mr* mine = std::exchange(keys_[i].remote, nullptr)) library_->dereg_mr(mine);
    if (ibv_mr* mine = std::exchange(keys_[i].local, nullptr)) library_->dereg_mr(mine);
  }
}

void IbvDevice::close() {
  if (closed_.exchange(true)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stopEvents_.get(), &one, sizeof one);
  if (connects_ == 0) return finish();
  // A connect under way may take a second more, and this is the application's thread. No peer reaches any memory from
  // here on; the rest is given back when that has ended.
  {
    std::shared_lock gate(gate_);
    for (const auto& each : allQueuePairs()) {
      if (!each->connecting) destroyHardware(each);
    }
    if (context_) deregisterAll();
  }
  try {
    std::thread([self = shared_from_this()] {
      try {
        self->finish();
      } catch (const std::exception&) {
        // What was not given back goes with the process.
      }
    }).detach();
  } catch (const std::system_error&) {
    finish();  // no thread can be started: the application waits
  }
}

void IbvDevice::finish() {
  workers_.stop();
  if (events_.joinable()) events_.join();
  releaseHardware();
}

}  // namespace rdmc

#endif
