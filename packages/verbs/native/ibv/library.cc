#include "ibv/library.h"

#if RDMC_WITH_IBVERBS

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

#include "core/failure.h"

namespace rdmc {
namespace {

class Symbols {
 public:
  Symbols(void* library, const std::string& path) : library_(library), path_(path) {}

  // The older of two versions of a function has another ABI: the wanted one is named.
  template <typename Function>
  void need(Function& into, const char* name, const char* version) {
    if (find(into, name, version)) return;
    throw Failure("ERR_RDMC_IBVERBS_TOO_OLD", path_ + " has no " + name + " of version " + version +
                                                  ": install a newer libibverbs (Debian: libibverbs1; rdma-core 17 "
                                                  "or later)");
  }
  template <typename Function>
  bool find(Function& into, const char* name, const char* version) {
    into = reinterpret_cast<Function>(::dlvsym(library_, name, version));
    return into != nullptr;
  }

 private:
  void* library_;
  const std::string& path_;
};

std::string pathOf(void* function, const std::string& asked) {
  Dl_info info;
  return ::dladdr(function, &info) != 0 && info.dli_fname ? info.dli_fname : asked;
}

std::shared_ptr<const IbvLibrary> load(const std::string& path) {
  // Never closed: providers keep threads and pointers into it.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): the C library keeps one for each thread
    throw Failure("ERR_RDMC_IBVERBS_MISSING",
                  "libibverbs cannot be opened: " + std::string(reason ? reason : path) +
                      "; install it (Debian: apt-get install libibverbs1 ibverbs-providers), or name another with "
                      "RDMC_IBVERBS_LIBRARY");
  }
  auto out = std::make_shared<IbvLibrary>();
  Symbols symbols(handle, path);
  const char* base = "IBVERBS_1.1";
  symbols.need(out->get_device_list, "ibv_get_device_list", base);
  symbols.need(out->free_device_list, "ibv_free_device_list", base);
  symbols.need(out->get_device_name, "ibv_get_device_name", base);
  symbols.need(out->open_device, "ibv_open_device", base);
  symbols.need(out->close_device, "ibv_close_device", base);
  symbols.need(out->query_device, "ibv_query_device", base);
  symbols.need(out->query_port, "ibv_query_port", base);
  symbols.need(out->query_gid, "ibv_query_gid", base);
  symbols.need(out->alloc_pd, "ibv_alloc_pd", base);
  symbols.need(out->dealloc_pd, "ibv_dealloc_pd", base);
  symbols.need(out->reg_mr, "ibv_reg_mr", base);
  symbols.need(out->dereg_mr, "ibv_dereg_mr", base);
  symbols.need(out->create_comp_channel, "ibv_create_comp_channel", "IBVERBS_1.0");
  symbols.need(out->destroy_comp_channel, "ibv_destroy_comp_channel", "IBVERBS_1.0");
  symbols.need(out->create_cq, "ibv_create_cq", base);
  symbols.need(out->resize_cq, "ibv_resize_cq", base);
  symbols.need(out->destroy_cq, "ibv_destroy_cq", base);
  symbols.need(out->get_cq_event, "ibv_get_cq_event", base);
  symbols.need(out->ack_cq_events, "ibv_ack_cq_events", base);
  symbols.need(out->create_srq, "ibv_create_srq", base);
  symbols.need(out->destroy_srq, "ibv_destroy_srq", base);
  symbols.need(out->create_qp, "ibv_create_qp", base);
  symbols.need(out->modify_qp, "ibv_modify_qp", base);
  symbols.need(out->query_qp, "ibv_query_qp", base);
  symbols.need(out->destroy_qp, "ibv_destroy_qp", base);
  symbols.need(out->get_async_event, "ibv_get_async_event", base);
  symbols.need(out->ack_async_event, "ibv_ack_async_event", base);
  symbols.find(out->reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  symbols.find(out->query_gid_table, "_ibv_query_gid_table", "IBVERBS_1.11");
  symbols.find(out->reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  symbols.find(out->query_qp_data_in_order, "ibv_query_qp_data_in_order", "IBVERBS_1.14");
  out->path = pathOf(reinterpret_cast<void*>(out->get_device_list), path);
  return out;
}

}  // namespace

std::shared_ptr<const IbvLibrary> IbvLibrary::open(const std::string& path) {
  static std::mutex mutex;
  static auto* opened = new std::map<std::string, std::shared_ptr<const IbvLibrary>>;
  std::lock_guard guard(mutex);
  auto& found = (*opened)[path];
  if (!found) found = load(path);
  return found;
}

int IbvLibrary::queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) const {
  std::memset(attributes, 0, sizeof *attributes);
  verbs_context* extended = verbs_get_ctx_op(context, query_port);
  if (extended) return extended->query_port(context, port, attributes, sizeof *attributes);
  return query_port(context, port, attributes);
}

}  // namespace rdmc

#endif
