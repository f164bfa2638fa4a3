// Opening an RDMA device: what it can do, and whether its port can be used as asked.
#include "ibv/device.h"

#if RDMC_WITH_IBVERBS

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "ibv/names.h"

namespace rdmc {
namespace {

// Devices of the list, given back with it.
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

IbvDevice::IbvDevice(IbvOptions options)
    : options_(std::move(options)),
      library_(IbvLibrary::open(options_.library)),
      pool_(std::make_shared<ArenaPool>()),
      regions_(nullptr),
      keys_(std::make_unique<RegionKeys[]>(kMaxRegions)),
      pds_(1),
      qps_(kMaxQps),
      qpTaken_(kMaxQps),
      qpGeneration_(kMaxQps),
      stopEvents_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stopEvents_.valid()) throw systemFailure("eventfd", "Opening the device", errno);
  openContext();
  try {
    readPort();
    readLimits();
  } catch (const Failure&) {
    library_->close_device(context_);
    throw;
  }
  ::fcntl(context_->async_fd, F_SETFL, ::fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK);
  events_ = std::thread([this] { watchEvents(); });
}

void IbvDevice::openContext() {
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
  context_ = library_->open_device(found);
  if (context_) return;
  if (errno == EACCES || errno == EPERM) {
    throw Failure("ERR_RDMC_PERMISSION",
                  "No permission to open " + file +
                      ": add the user to the group that owns it (often 'rdma'), or let "
                      "udev make it accessible",
                  errno, "ibv_open_device");
  }
  throw systemFailure("ibv_open_device", "Opening " + options_.device + " (" + file + ")", errno);
}

void IbvDevice::readLimits() {
  const ibv_device_attr& from = attributes_;
  limits_.maxQueuePairs = std::min<uint32_t>(uint32_t(from.max_qp), kMaxQps - 1);
  limits_.maxCompletionQueues = uint32_t(from.max_cq);
  limits_.maxCompletionQueueDepth = uint32_t(from.max_cqe);
  limits_.maxSge = std::min<uint32_t>(uint32_t(from.max_sge), kMaxSge);
  limits_.maxRegions = std::min<uint32_t>(uint32_t(from.max_mr), kMaxRegions - 1);
  limits_.maxSharedReceiveDepth = from.max_srq > 0 ? uint32_t(from.max_srq_wr) : 0;
  limits_.maxMessageBytes = std::min<uint64_t>(
      port_.attributes.max_msg_sz ? port_.attributes.max_msg_sz : kMaxMessageBytes, kMaxMessageBytes);
  limits_.atomics = from.atomic_cap != IBV_ATOMIC_NONE;
  probeQueues();
}

DeviceDescription IbvDevice::describe() const {
  const IbvPort now = port();
  DeviceDescription out;
  out.kind = "ibverbs";
  out.name = options_.device;
  out.transport = linkLayerName(now.attributes.link_layer) == std::string("infiniband") ? "infiniband" : "roce";
  out.limits = {{"maxQueuePairs", limits_.maxQueuePairs},
                {"maxCompletionQueues", limits_.maxCompletionQueues},
                {"maxCompletionQueueDepth", limits_.maxCompletionQueueDepth},
                {"maxSendDepth", limits_.maxSendDepth},
                {"maxReceiveDepth", limits_.maxReceiveDepth},
                {"maxSge", limits_.maxSge},
                {"maxInlineBytes", limits_.maxInlineBytes},
                {"maxMessageBytes", double(limits_.maxMessageBytes)},
                {"maxRegions", limits_.maxRegions},
                // A promise about single queue pairs only: see dataInOrder.
                {"writeOrderUnitBytes", 0}};
  out.abilities = {{"registeredMemoryIsRemote", true},
                   {"sharedReceiveQueues", limits_.maxSharedReceiveDepth > 0},
                   {"atomics", limits_.atomics},
                   {"ordersWrites", limits_.ordersWrites},
                   {"dmabuf", library_->reg_dmabuf_mr != nullptr}};
  out.details = {{"library", library_->path},
                 {"port", std::to_string(options_.port)},
                 {"linkLayer", linkLayerName(now.attributes.link_layer)},
                 {"gidIndex", std::to_string(options_.gidIndex)},
                 {"gid", gidText(now.gid)},
                 {"gidType", now.gidType},
                 {"lid", std::to_string(now.attributes.lid)},
                 {"activeMtuBytes", std::to_string(mtuBytes(now.attributes.active_mtu))},
                 {"firmware", attributes_.fw_ver}};
  return out;
}

}  // namespace rdmc

#endif
