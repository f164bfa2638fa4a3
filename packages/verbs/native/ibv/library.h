// libibverbs, opened at run time: install, import and `rdmc devices` work on machines without it.
#pragma once
#include <memory>
#include <string>

#include "ibv/header.h"

#if RDMC_WITH_IBVERBS

namespace rdmc {

// Functions that have been in the library since version 1.1 of its interface (2007), and optional ones, which are
// nullptr where the library is older. All other functions are inline functions of the header.
struct IbvLibrary {
  // The library of this path (or soname), opened once per process and never closed.
  // Throws Failure ERR_RDMC_IBVERBS_MISSING, ERR_RDMC_IBVERBS_TOO_OLD.
  static std::shared_ptr<const IbvLibrary> open(const std::string& path);

  std::string path;  // where it was found

  ibv_device** (*get_device_list)(int* count);
  void (*free_device_list)(ibv_device** list);
  const char* (*get_device_name)(ibv_device* device);
  ibv_context* (*open_device)(ibv_device* device);
  int (*close_device)(ibv_context* context);
  int (*query_device)(ibv_context* context, ibv_device_attr* attributes);
  int (*query_port)(ibv_context* context, uint8_t port, void* compatAttributes);
  int (*query_gid)(ibv_context* context, uint8_t port, int index, ibv_gid* gid);
  ibv_pd* (*alloc_pd)(ibv_context* context);
  int (*dealloc_pd)(ibv_pd* pd);
  ibv_mr* (*reg_mr)(ibv_pd* pd, void* address, size_t length, int access);
  int (*dereg_mr)(ibv_mr* mr);
  ibv_comp_channel* (*create_comp_channel)(ibv_context* context);
  int (*destroy_comp_channel)(ibv_comp_channel* channel);
  ibv_cq* (*create_cq)(ibv_context* context, int depth, void* cqContext, ibv_comp_channel* channel, int vector);
  int (*resize_cq)(ibv_cq* cq, int depth);
  int (*destroy_cq)(ibv_cq* cq);
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** cq, void** cqContext);
  void (*ack_cq_events)(ibv_cq* cq, unsigned int count);
  ibv_srq* (*create_srq)(ibv_pd* pd, ibv_srq_init_attr* attributes);
  int (*destroy_srq)(ibv_srq* srq);
  ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attributes);
  int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
  int (*query_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial);
  int (*destroy_qp)(ibv_qp* qp);
  int (*get_async_event)(ibv_context* context, ibv_async_event* event);
  void (*ack_async_event)(ibv_async_event* event);

  // Since 1.8: access flags the kernel does not know are left out instead of refused.
  ibv_mr* (*reg_mr_iova2)(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned int access);
  // Since 1.11.
  ssize_t (*query_gid_table)(ibv_context* context, void* entries, size_t count, uint32_t flags, size_t entrySize);
  // Since 1.12.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access);
  // Since 1.14.
  int (*query_qp_data_in_order)(ibv_qp* qp, int opcode, uint32_t flags);

  // The extended port query of the provider, or the library's old one.
  int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) const;
};

}  // namespace rdmc

#endif
