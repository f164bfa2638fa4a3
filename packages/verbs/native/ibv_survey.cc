#include "ibv_survey.h"

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "failure.h"
#include "ibv_library.h"

namespace rdmc {

#if RDMC_WITH_IBVERBS

}  // namespace rdmc

#include "ibv_names.h"

namespace rdmc {
namespace {

// As struct ibv_gid_entry, which older headers lack.
struct GidEntry {
  ibv_gid gid;
  uint32_t index, port, type, interfaceIndex;
};
static_assert(sizeof(GidEntry) == 32);

constexpr size_t kMaxGids = 1024;

const char* gidTypeName(uint32_t type) {
  switch (type) {
    case 0:
      return "infiniband";
    case 1:
      return "roce-v1";
    default:
      return "roce-v2";
  }
}

std::array<uint8_t, 16> bytesOf(const ibv_gid& gid) {
  std::array<uint8_t, 16> out;
  std::memcpy(out.data(), gid.raw, out.size());
  return out;
}

std::string interfaceName(uint32_t index) {
  char name[IF_NAMESIZE];
  return index != 0 && ::if_indextoname(index, name) ? name : "";
}

std::string line(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// Before version 1.11 the library did not tell types and interfaces; the kernel's files do.
void readGidsOneByOne(const IbvLibrary& library, ibv_context* context, const std::string& sysfs, int length,
                      SurveyedPort& port) {
  const std::string folder = sysfs + "/ports/" + std::to_string(port.number) + "/gid_attrs/";
  for (int i = 0; i < length; ++i) {
    ibv_gid gid{};
    if (library.query_gid(context, uint8_t(port.number), i, &gid) != 0) continue;
    const auto bytes = bytesOf(gid);
    if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; })) continue;
    const std::string type = line(folder + "types/" + std::to_string(i));
    const bool v2 = type == "RoCE v2";
    const char* name = port.linkLayer != "ethernet" ? "infiniband" : v2 ? "roce-v2" : "roce-v1";
    port.gids.push_back({uint32_t(i), gidText(bytes), name, line(folder + "ndevs/" + std::to_string(i))});
  }
}

SurveyedPort readPort(const IbvLibrary& library, ibv_context* context, const std::string& sysfs, uint32_t number) {
  SurveyedPort port{};
  port.number = number;
  ibv_port_attr attributes;
  if (library.queryPort(context, uint8_t(number), &attributes) != 0) {
    port.state = "unknown";
    return port;
  }
  port.state = portStateName(attributes.state);
  port.linkLayer = linkLayerName(attributes.link_layer);
  port.activeMtuBytes = mtuBytes(attributes.active_mtu);
  port.maxMtuBytes = mtuBytes(attributes.max_mtu);
  port.lid = attributes.lid;
  if (!library.query_gid_table) readGidsOneByOne(library, context, sysfs, attributes.gid_tbl_len, port);
  return port;
}

void readGidTable(const IbvLibrary& library, ibv_context* context, SurveyedDevice& device) {
  if (!library.query_gid_table) return;
  std::vector<GidEntry> entries(kMaxGids);
  const ssize_t count = library.query_gid_table(context, entries.data(), entries.size(), 0, sizeof(GidEntry));
  for (ssize_t i = 0; i < count; ++i) {
    const GidEntry& entry = entries[size_t(i)];
    for (SurveyedPort& port : device.ports) {
      if (port.number != entry.port) continue;
      port.gids.push_back(
          {entry.index, gidText(bytesOf(entry.gid)), gidTypeName(entry.type), interfaceName(entry.interfaceIndex)});
    }
  }
}

SurveyedDevice readDevice(const IbvLibrary& library, ibv_device* from) {
  SurveyedDevice out;
  out.name = library.get_device_name(from);
  out.file = std::string("/dev/infiniband/") + from->dev_name;
  out.transport = from->transport_type == IBV_TRANSPORT_IB      ? "infiniband"
                  : from->transport_type == IBV_TRANSPORT_IWARP ? "iwarp"
                                                                : "other";
  ibv_context* context = library.open_device(from);
  if (!context) {
    out.errorNumber = errno;
    out.error = std::strerror(errno);
    return out;
  }
  ibv_device_attr attributes;
  if (library.query_device(context, &attributes) == 0) {
    for (uint32_t port = 1; port <= attributes.phys_port_cnt; ++port) {
      out.ports.push_back(readPort(library, context, from->ibdev_path, port));
    }
    readGidTable(library, context, out);
  }
  library.close_device(context);
  return out;
}

}  // namespace

Survey surveyIbverbs(const std::string& path) {
  const auto library = IbvLibrary::open(path);
  Survey out;
  out.library = library->path;
  int count = 0;
  ibv_device** list = library->get_device_list(&count);
  for (int i = 0; list && i < count; ++i) out.devices.push_back(readDevice(*library, list[i]));
  if (list) library->free_device_list(list);
  return out;
}

#else

Survey surveyIbverbs(const std::string&) {
  throw Failure("ERR_RDMC_IBVERBS_NOT_BUILT",
                "This addon was built without <infiniband/verbs.h>: install it (Debian: apt-get install "
                "libibverbs-dev) and build again (npx rdmc-verbs-build)");
}

#endif

}  // namespace rdmc
