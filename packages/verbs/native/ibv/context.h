// An RDMA device that is open: its options, its library, and whether it can still be used.
#pragma once
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>

#include "core/failure.h"
#include "core/ordered_lock.h"
#include "ibv/library.h"
#include "ibv/lock_order.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

struct IbvOptions {
  std::string library, device;
  uint32_t port = 1;
  uint32_t gidIndex = 0;
  uint32_t pathMtuBytes = 0;  // 0: as large as both ports carry
};

class IbvContext {
 public:
  // Throws Failure ERR_RDMC_UNKNOWN_DEVICE, ERR_RDMC_PERMISSION and those of IbvLibrary::open.
  explicit IbvContext(IbvOptions options);
  ~IbvContext() { closeHardware(); }
  IbvContext(const IbvContext&) = delete;
  IbvContext& operator=(const IbvContext&) = delete;

  const IbvOptions& options() const { return options_; }
  const std::string& name() const { return options_.device; }
  const IbvLibrary& library() const { return *library_; }
  const std::shared_ptr<const IbvLibrary>& sharedLibrary() const { return library_; }
  const ibv_device_attr& attributes() const { return attributes_; }
  bool isSoftRoce() const;
  // nullptr once it is given back, which needs `gate`.
  ibv_context* hardware() const { return hardware_; }
  void closeHardware();

  // Whether the device's entry is still in sysfs, where the library has said which one it is.
  bool stillThere() const;
  bool canDisappear() const { return !sysfsPath_.empty(); }
  // Throws Failure ERR_RDMC_DEVICE_REMOVED, ERR_RDMC_DEVICE_CLOSED.
  void checkOpen() const;
  // The error for a refused call; a removed device is recognised.
  Failure refusal(const char* call, const std::string& what, int error) const;

  // Held shared to use the hardware's objects outside the fast path, and exclusively to destroy all of them.
  mutable Ordered<std::shared_mutex, IbvLock::kGate> gate;
  std::atomic<bool> closed{false};   // by its owner
  std::atomic<bool> removed{false};  // the device is gone

 private:
  void open();
  const IbvOptions options_;
  const std::shared_ptr<const IbvLibrary> library_;
  ibv_context* hardware_ = nullptr;
  ibv_device_attr attributes_{};
  std::string sysfsPath_;
};

}  // namespace rdmc

#endif
