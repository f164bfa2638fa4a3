// Opening an RDMA device: what it can do, and whether its port can be used as asked.
#include "ibv_device.h"

#if RDMC_WITH_IBVERBS

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ibv_names.h"

namespace rdmc {
namespace {

constexpr int kProbeCqDepth = 16;
constexpr uint32_t kInlineSizes[] = {kMaxInlineBytes, 128, 64, 32};

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
    throw Failure("ERR_RDMC_UNKNOWN_DEVICE", "No RDMA device '" + options_.device + "'; there " +
                                                 (known.empty() ? "is none" : "are: " + known));
  }
  // The entry of its device file goes as soon as its removal begins; that of the device itself only when its last user
  // has closed it.
  sysfsPath_ = found->dev_path[0] ? found->dev_path : found->ibdev_path;
  const std::string file = std::string("/dev/infiniband/") + found->dev_name;
  context_ = library_->open_device(found);
  if (context_) return;
  if (errno == EACCES || errno == EPERM) {
    throw Failure("ERR_RDMC_PERMISSION",
                  "No permission to open " + file + ": add the user to the group that owns it (often 'rdma'), or let "
                  "udev make it accessible",
                  errno, "ibv_open_device");
  }
  throw systemFailure("ibv_open_device", "Opening " + options_.device + " (" + file + ")", errno);
}

void IbvDevice::readPort() {
  if (const int error = library_->query_device(context_, &attributes_); error != 0) {
    throw systemFailure("ibv_query_device", "Opening " + options_.device, error);
  }
  if (options_.port == 0 || options_.port > attributes_.phys_port_cnt) {
    throw Failure("ERR_RDMC_UNKNOWN_PORT", options_.device + " has no port " + std::to_string(options_.port) +
                                               "; it has ports 1 to " + std::to_string(attributes_.phys_port_cnt));
  }
  if (const int error = library_->queryPort(context_, uint8_t(options_.port), &port_); error != 0) {
    throw systemFailure("ibv_query_port", "Opening " + options_.device, error);
  }
  const std::string port = "Port " + std::to_string(options_.port) + " of " + options_.device;
  if (port_.state != IBV_PORT_ACTIVE) {
    throw Failure("ERR_RDMC_PORT_DOWN", port + " is " + portStateName(port_.state) +
                                            ": bring its network interface up (ip link set DEV up), or connect the "
                                            "cable; on InfiniBand, see that a subnet manager runs");
  }
  if (options_.gidIndex >= uint32_t(port_.gid_tbl_len)) {
    throw Failure("ERR_RDMC_GID_INDEX", port + " has GID indices 0 to " + std::to_string(port_.gid_tbl_len - 1) +
                                            ", not " + std::to_string(options_.gidIndex) + ": see rdmc devices");
  }
  ibv_gid gid{};
  if (library_->query_gid(context_, uint8_t(options_.port), int(options_.gidIndex), &gid) != 0) gid = {};
  std::memcpy(gid_.data(), gid.raw, gid_.size());
  const bool empty = std::all_of(gid_.begin(), gid_.end(), [](uint8_t byte) { return byte == 0; });
  if (empty && port_.link_layer == IBV_LINK_LAYER_ETHERNET) {
    throw Failure("ERR_RDMC_GID_INDEX", port + " has no GID at index " + std::to_string(options_.gidIndex) +
                                            ": give its network interface an address, or see rdmc devices for others");
  }
  if (options_.pathMtuBytes > mtuBytes(port_.active_mtu)) {
    throw Failure("ERR_RDMC_PATH_MTU", port + " carries packets of " + std::to_string(mtuBytes(port_.active_mtu)) +
                                           " bytes, not of " + std::to_string(options_.pathMtuBytes) +
                                           ": raise the MTU of its network interface, or ask for less");
  }
}

void IbvDevice::readLimits() {
  const ibv_device_attr& from = attributes_;
  limits_.maxQueuePairs = std::min<uint32_t>(uint32_t(from.max_qp), kMaxQps - 1);
  limits_.maxCompletionQueues = uint32_t(from.max_cq);
  limits_.maxCompletionQueueDepth = uint32_t(from.max_cqe);
  limits_.maxSendDepth = uint32_t(from.max_qp_wr);
  limits_.maxReceiveDepth = uint32_t(from.max_qp_wr) - 1;  // one is ours, to know when a broken queue is empty
  limits_.maxSge = std::min<uint32_t>(uint32_t(from.max_sge), kMaxSge);
  limits_.maxRegions = std::min<uint32_t>(uint32_t(from.max_mr), kMaxRegions - 1);
  limits_.maxSharedReceiveDepth = from.max_srq > 0 ? uint32_t(from.max_srq_wr) : 0;
  limits_.maxMessageBytes = std::min<uint64_t>(port_.max_msg_sz ? port_.max_msg_sz : kMaxMessageBytes, kMaxMessageBytes);
  limits_.atomics = from.atomic_cap != IBV_ATOMIC_NONE;
  limits_.maxInlineBytes = probeInline(limits_.maxSge);
}

// No attribute tells it: a queue pair is made with as much as is granted.
uint32_t IbvDevice::probeInline(uint32_t maxSge) {
  ibv_pd* pd = library_->alloc_pd(context_);
  ibv_cq* cq = pd ? library_->create_cq(context_, kProbeCqDepth, nullptr, nullptr, 0) : nullptr;
  uint32_t granted = 0;
  int error = errno;
  bool made = false;
  for (const uint32_t wanted : kInlineSizes) {
    if (!cq || made) break;
    ibv_qp_init_attr initial{};
    initial.send_cq = initial.recv_cq = cq;
    initial.qp_type = IBV_QPT_RC;
    initial.cap = {1, 1, maxSge, maxSge, wanted};
    ibv_qp* qp = library_->create_qp(pd, &initial);
    error = errno;
    if (!qp) continue;
    made = true;
    granted = std::min<uint32_t>({initial.cap.max_inline_data, wanted});
    library_->destroy_qp(qp);
  }
  if (cq) library_->destroy_cq(cq);
  if (pd) library_->dealloc_pd(pd);
  if (made) return granted;
  throw Failure("ERR_RDMC_UNSUPPORTED",
                options_.device + " makes no reliable-connection queue pair: " + std::strerror(error), error,
                "ibv_create_qp");
}

DeviceDescription IbvDevice::describe() const {
  DeviceDescription out;
  out.kind = "ibverbs";
  out.name = options_.device;
  out.transport = linkLayerName(port_.link_layer) == std::string("infiniband") ? "infiniband" : "roce";
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
                   {"dmabuf", library_->reg_dmabuf_mr != nullptr}};
  out.details = {{"library", library_->path},
                 {"port", std::to_string(options_.port)},
                 {"linkLayer", linkLayerName(port_.link_layer)},
                 {"gidIndex", std::to_string(options_.gidIndex)},
                 {"gid", gidText(gid_)},
                 {"lid", std::to_string(port_.lid)},
                 {"activeMtuBytes", std::to_string(mtuBytes(port_.active_mtu))},
                 {"firmware", attributes_.fw_ver}};
  return out;
}

}  // namespace rdmc

#endif
