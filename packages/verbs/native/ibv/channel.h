// A completion channel of an RDMA device, as one descriptor: an epoll of the device's own channel and of an
// eventfd, through which this process wakes the listener for completions it made itself (a removed device).
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "core/device.h"
#include "core/raii.h"
#include "ibv/library.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

class IbvChannel final : public Channel {
 public:
  IbvChannel(std::shared_ptr<const IbvLibrary> library, ibv_context* context);
  ~IbvChannel() override { release(); }
  int fd() const override { return epoll_.get(); }
  // Takes and acknowledges every event that is there.
  void drain() override;
  void take() override;
  // The hardware's events only; the wake-up of the listener is kept.
  void acknowledge();
  void signal() const override;
  ibv_comp_channel* hardware() const { return channel_; }
  // The hardware's part is given back; `signal` still works.
  void release();
  std::atomic<uint32_t> users{0};

 private:
  bool takeEvent();
  bool takeEvents();
  void drainWake();
  const std::shared_ptr<const IbvLibrary> library_;
  std::mutex mutex_;
  ibv_comp_channel* channel_ = nullptr;
  Fd wake_, epoll_;
};

}  // namespace rdmc

#endif
