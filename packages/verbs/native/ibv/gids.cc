// The addresses of a port, with their types.
#include "ibv/gids.h"

#if RDMC_WITH_IBVERBS

#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "ibv/names.h"

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
std::vector<SurveyedGid> readOneByOne(const IbvLibrary& library, ibv_context* context, uint32_t port,
                                      const ibv_port_attr& attributes) {
  std::vector<SurveyedGid> out;
  const std::string folder =
      std::string(context->device->ibdev_path) + "/ports/" + std::to_string(port) + "/gid_attrs/";
  for (int i = 0; i < attributes.gid_tbl_len; ++i) {
    ibv_gid gid{};
    if (library.query_gid(context, uint8_t(port), i, &gid) != 0) continue;
    const auto bytes = bytesOf(gid);
    if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; })) continue;
    const bool v2 = line(folder + "types/" + std::to_string(i)) == "RoCE v2";
    const uint32_t type = attributes.link_layer != IBV_LINK_LAYER_ETHERNET ? 0 : v2 ? 2 : 1;
    out.push_back({uint32_t(i), gidText(bytes), gidTypeName(type), line(folder + "ndevs/" + std::to_string(i))});
  }
  return out;
}

}  // namespace

std::vector<SurveyedGid> readGids(const IbvLibrary& library, ibv_context* context, uint32_t port,
                                  const ibv_port_attr& attributes) {
  if (!library.query_gid_table) return readOneByOne(library, context, port, attributes);
  std::vector<SurveyedGid> out;
  std::vector<GidEntry> entries(kMaxGids);
  const ssize_t count = library.query_gid_table(context, entries.data(), entries.size(), 0, sizeof(GidEntry));
  for (ssize_t i = 0; i < count; ++i) {
    const GidEntry& entry = entries[size_t(i)];
    if (entry.port != port) continue;
    out.push_back(
        {entry.index, gidText(bytesOf(entry.gid)), gidTypeName(entry.type), interfaceName(entry.interfaceIndex)});
  }
  return out;
}

}  // namespace rdmc

#endif
