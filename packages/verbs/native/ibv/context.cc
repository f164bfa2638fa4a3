#include "ibv/context.h"

#if RDMC_WITH_IBVERBS

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rdmc {
namespace {

// Of rdma_rxe, in struct ibv_device_attr.
constexpr uint32_t kSoftRoceVendor = 0xffffff;

// The library's list of devices, which is freed with this object.
class DeviceList {
 public:
  explicit DeviceList(const IbvLibrary& library) : library_(library), list_(library.get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_) library_.free_device_list(list_);
  }
  ibv_device* find(const std::string& name, std::string& known) const {
    for (int i = 0; list_ && i < count_; ++i) {
      if (name == library_.get_device_name(list_[i])) return list_[i];
      known += std::string(known.empty() ? "" : ", ") + library_.get_device_name(list_[i]);
    }
    return nullptr;
  }

 private:
  const IbvLibrary& library_;
  int count_ = 0;
  ibv_device** list_;
};

}  // namespace

IbvContext::IbvContext(IbvOptions options)
    : options_(std::move(options)), library_(IbvLibrary::open(options_.library)) {
  open();
  if (const int error = library_->query_device(hardware_, &attributes_); error != 0) {
    closeHardware();
    throw systemFailure("ibv_query_device", "Opening " + options_.device, error);
  }
}

void IbvContext::open() {
  DeviceList list(*library_);
  std::string known;
  ibv_device* found = list.find(options_.device, known);
  if (!found) {
    throw Failure("ERR_RDMC_UNKNOWN_DEVICE",
                  "No RDMA device '" + options_.device + "'; there " + (known.empty() ? "is none" : "are: " + known));
  }
  // The entry of its device file goes as soon as its removal begins; that of the device itself only when its last user
  // has closed it.
  sysfsPath_ = found->dev_path[0] ? found->dev_path : found->ibdev_path;
  const std::string file = std::string("/dev/infiniband/") + found->dev_name;
  hardware_ = library_->open_device(found);
  if (hardware_) return;
  if (errno == EACCES || errno == EPERM) {
    throw Failure("ERR_RDMC_PERMISSION",
                  "No permission to open " + file +
                      ": add the user to the group that owns it (often 'rdma'), or let "
                      "udev make it accessible",
                  errno, "ibv_open_device");
  }
  throw systemFailure("ibv_open_device", "Opening " + options_.device + " (" + file + ")", errno);
}

void IbvContext::closeHardware() {
  if (hardware_) library_->close_device(std::exchange(hardware_, nullptr));
}

bool IbvContext::isSoftRoce() const { return attributes_.vendor_id == kSoftRoceVendor; }

bool IbvContext::stillThere() const { return sysfsPath_.empty() || ::access(sysfsPath_.c_str(), F_OK) == 0; }

Failure IbvContext::refusal(const char* call, const std::string& what, int error) const {
  if (removed || error == ENODEV || (error == EIO && !stillThere())) {
    return Failure("ERR_RDMC_DEVICE_REMOVED", what + ": " + options_.device + " is gone", error, call);
  }
  if (error == EIO) {
    return Failure("ERR_RDMC_DEVICE_FAILED",
                   what + ": " + options_.device +
                       " reports an error of its own (EIO); see the kernel's log, and open "
                       "it again",
                   error, call);
  }
  if (error == EOPNOTSUPP) {
    return Failure("ERR_RDMC_UNSUPPORTED", what + ": the driver of " + options_.device + " cannot do that", error,
                   call);
  }
  if (error == ENOMEM || error == EINVAL || error == ENOSPC) {
    return Failure("ERR_RDMC_DEVICE_LIMIT",
                   what + " is more than " + options_.device + " has room for: " + errorText(error) +
                       "; close what is not needed, or ask for less",
                   error, call);
  }
  return systemFailure(call, what, error);
}

void IbvContext::checkOpen() const {
  if (removed) throw Failure("ERR_RDMC_DEVICE_REMOVED", options_.device + " is gone: close the device");
  if (closed || !hardware_) throw Failure("ERR_RDMC_DEVICE_CLOSED", "The device is closed");
}

}  // namespace rdmc

#endif
