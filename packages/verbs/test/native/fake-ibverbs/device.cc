// Devices, ports, addresses, events: what is asked before anything moves.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "fake.h"

namespace fake {

World& world() {
  static auto* instance = new World;
  return *instance;
}

std::string setting(const char* name, const char* otherwise) {
  const char* value = ::getenv((std::string("FAKE_IBVERBS_") + name).c_str());
  return value ? value : otherwise;
}

static std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) out.push_back(part);
  return out;
}

long limit(const char* name, long otherwise) {
  for (const std::string& pair : split(setting("LIMITS", ""))) {
    const size_t at = pair.find('=');
    if (pair.substr(0, at) == name) return std::stol(pair.substr(at + 1));
  }
  return otherwise;
}

bool sink() {
  static const bool on = setting("SINK", "0") == "1";
  return on;
}

bool likeRxe() { return setting("RXE", "0") == "1"; }

void misuse(const char* what) {
  std::fprintf(stderr, "fake libibverbs: %s\n", what);
  std::abort();
}

std::vector<GidEntry> gids() {
  std::vector<GidEntry> out;
  const auto all = split(setting("GIDS", "1/fe80::1,2/fe80::1,2/::ffff:10.0.0.1"));
  for (uint32_t i = 0; i < all.size(); ++i) {
    GidEntry entry{{}, i, 1, uint32_t(all[i][0] - '0'), 1};
    if (::inet_pton(AF_INET6, all[i].c_str() + 2, entry.gid.data()) != 1)
      misuse("FAKE_IBVERBS_GIDS is not a list of addresses");
    out.push_back(entry);
  }
  return out;
}

static ibv_mtu mtuOf(const std::string& bytes) { return ibv_mtu(__builtin_ctz(unsigned(std::stoul(bytes))) - 7); }

int queryPort(ibv_context*, uint8_t port, ibv_port_attr* out, size_t length) {
  if (port != 1) return EINVAL;
  const std::string state = setting("STATE", "active");
  ibv_port_attr attributes{};
  attributes.state = state == "active" ? IBV_PORT_ACTIVE : state == "armed" ? IBV_PORT_ARMED : IBV_PORT_DOWN;
  attributes.max_mtu = IBV_MTU_4096;
  attributes.active_mtu = mtuOf(setting("MTU", "4096"));
  attributes.gid_tbl_len = 16;
  attributes.max_msg_sz = uint32_t(limit("msg", 0x80000000));
  const bool ethernet = setting("LINK", "ethernet") == "ethernet";
  attributes.link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  attributes.lid = ethernet ? 0 : 7;
  std::memcpy(out, &attributes, length < sizeof attributes ? length : sizeof attributes);
  return 0;
}

Context* contextOf(ibv_context* context) {
  return reinterpret_cast<Context*>(reinterpret_cast<uint8_t*>(context) - offsetof(verbs_context, context));
}

}  // namespace fake

using namespace fake;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  const auto names = split(setting("DEVICES", "fake0"));
  auto** list = new ibv_device*[names.size() + 1]();
  for (size_t i = 0; i < names.size(); ++i) {
    auto* device = new Device;
    device->name = names[i];
    std::strncpy(device->base.name, names[i].c_str(), sizeof device->base.name - 1);
    std::snprintf(device->base.dev_name, sizeof device->base.dev_name, "uverbs%zu", i);
    const std::string folder = setting("FOLDER", "");
    if (!folder.empty())
      std::snprintf(device->base.ibdev_path, sizeof device->base.ibdev_path, "%s/%s", folder.c_str(), names[i].c_str());
    device->base.node_type = IBV_NODE_CA;
    device->base.transport_type = setting("TRANSPORT", "ib") == "ib" ? IBV_TRANSPORT_IB : IBV_TRANSPORT_IWARP;
    list[i] = &device->base;
  }
  if (count) *count = int(names.size());
  return list;
}

// Devices are leaked: a context of one may be open.
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  if (const int error = std::stoi(setting("OPEN_ERRNO", "0")); error != 0) {
    errno = error;
    return nullptr;
  }
  auto* context = new Context;
  context->device = reinterpret_cast<Device*>(device);
  ibv_context& plain = context->extended.context;
  plain.device = device;
  plain.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context->extended.sz = sizeof(verbs_context);
  context->extended.query_port = queryPort;
  plain.ops.poll_cq = pollCq;
  plain.ops.req_notify_cq = armCq;
  plain.ops.post_send = postSend;
  plain.ops.post_recv = postReceive;
  plain.ops.post_srq_recv = postShared;
  const std::string folder = setting("FOLDER", "");
  if (folder.empty()) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return nullptr;
    plain.async_fd = pipe[0];
    plain.cmd_fd = pipe[1];
  } else {
    const std::string fifo = folder + "/" + context->device->name + ".events";
    ::mkfifo(fifo.c_str(), 0600);
    plain.async_fd = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);
    plain.cmd_fd = -1;
  }
  return &plain;
}

int ibv_close_device(ibv_context* context) {
  ::close(context->async_fd);
  if (context->cmd_fd >= 0) ::close(context->cmd_fd);
  delete contextOf(context);
  return 0;
}

int ibv_query_device(ibv_context*, ibv_device_attr* out) {
  *out = {};
  std::strcpy(out->fw_ver, "fake");
  out->vendor_id = likeRxe() ? 0xffffff : 0x1234;
  out->max_qp = 4096;
  out->max_qp_wr = int(limit("qp_wr", 4096));
  out->max_sge = int(limit("sge", 16));
  out->max_cq = 1024;
  out->max_cqe = int(limit("cqe", 65536));
  out->max_mr = 1 << 20;
  out->max_srq = 64;
  out->max_srq_wr = 4096;
  out->max_qp_rd_atom = 16;
  out->max_qp_init_rd_atom = 16;
  out->atomic_cap = limit("atomics", 1) ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  out->phys_port_cnt = 1;
  return 0;
}

#undef ibv_query_port
int ibv_query_port(ibv_context* context, uint8_t port, struct _compat_ibv_port_attr* out) {
  return queryPort(context, port, reinterpret_cast<ibv_port_attr*>(out), offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context*, uint8_t port, int index, ibv_gid* out) {
  const auto all = gids();
  if (port != 1 || index < 0) return EINVAL;
  *out = {};
  if (size_t(index) < all.size()) std::memcpy(out->raw, all[size_t(index)].gid.data(), 16);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* out, size_t count, uint32_t, size_t size) {
  const auto all = gids();
  if (size != sizeof(GidEntry)) return -EINVAL;
  const size_t given = all.size() < count ? all.size() : count;
  std::memcpy(static_cast<void*>(out), all.data(), given * size);
  return ssize_t(given);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  uint32_t record[2];
  if (::read(context->async_fd, record, sizeof record) != ssize_t(sizeof record)) return -1;
  if (record[0] == kLinkChange) {
    std::lock_guard guard(world().mutex);
    contextOf(context)->link = Link(record[1]);
    poke();
    errno = EAGAIN;
    return -1;
  }
  *event = {};
  event->event_type = ibv_event_type(record[0]);
  event->element.port_num = int(record[1]);
  // Of a queue pair, or of the completion queue of one; such an event goes with the queue pair.
  const bool ofQp = record[0] < IBV_EVENT_DEVICE_FATAL || record[0] == IBV_EVENT_QP_LAST_WQE_REACHED;
  if (!ofQp) return 0;
  std::lock_guard guard(world().mutex);
  const auto found = world().qps.find(record[1]);
  if (found == world().qps.end()) {
    errno = EAGAIN;
    return -1;
  }
  if (record[0] == IBV_EVENT_CQ_ERR) {
    event->element.cq = found->second->base.send_cq;
  } else {
    event->element.qp = &found->second->base;
  }
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) {}

}  // extern "C"
