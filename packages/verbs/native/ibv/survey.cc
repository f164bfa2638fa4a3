#include "ibv/survey.h"

#include <cerrno>
#include <cstring>

#include "core/failure.h"
#include "ibv/gids.h"
#include "ibv/names.h"

namespace rdmc {

#if RDMC_WITH_IBVERBS

namespace {

SurveyedPort readPort(const IbvLibrary& library, ibv_context* context, uint32_t number) {
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
  port.gids = readGids(library, context, number, attributes);
  return port;
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
    out.error = errorText(errno);
    return out;
  }
  ibv_device_attr attributes;
  if (library.query_device(context, &attributes) == 0) {
    for (uint32_t port = 1; port <= attributes.phys_port_cnt; ++port) {
      out.ports.push_back(readPort(library, context, port));
    }
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
