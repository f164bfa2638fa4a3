// The provider alone: posts and polls batches of WRITEs through the header's inline functions, as the addon does,
// and prints nanoseconds per request. Arguments: library, batch, batches.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

template <typename Function>
Function symbol(void* library, const char* name, const char* version = "IBVERBS_1.1") {
  auto found = reinterpret_cast<Function>(::dlvsym(library, name, version));
  if (!found) std::exit(2);
  return found;
}

double seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

}  // namespace

int main(int, char** arguments) {
  void* library = ::dlopen(arguments[1], RTLD_NOW);
  if (!library) return 2;
  const int batch = std::atoi(arguments[2]);
  const long batches = std::atol(arguments[3]);
  ibv_device** list = symbol<ibv_device** (*)(int*)>(library, "ibv_get_device_list")(nullptr);
  ibv_context* context = symbol<ibv_context* (*)(ibv_device*)>(library, "ibv_open_device")(list[0]);
  ibv_pd* pd = symbol<ibv_pd* (*)(ibv_context*)>(library, "ibv_alloc_pd")(context);
  using CreateCq = ibv_cq* (*)(ibv_context*, int, void*, ibv_comp_channel*, int);
  ibv_cq* cq = symbol<CreateCq>(library, "ibv_create_cq")(context, 1024, nullptr, nullptr, 0);
  ibv_qp_init_attr initial{};
  initial.send_cq = initial.recv_cq = cq;
  initial.qp_type = IBV_QPT_RC;
  initial.cap = {128, 1, 4, 4, 64};
  ibv_qp* qp = symbol<ibv_qp* (*)(ibv_pd*, ibv_qp_init_attr*)>(library, "ibv_create_qp")(pd, &initial);
  static char memory[4096];
  ibv_send_wr requests[64]{};
  ibv_sge entries[64];
  ibv_wc done[64];
  const double start = seconds();
  for (long round = 0; round < batches; ++round) {
    for (int i = 0; i < batch; ++i) {
      entries[i] = {reinterpret_cast<uint64_t>(memory), 64, 7};
      ibv_send_wr& request = requests[i];
      request.wr_id = uint64_t(round) * uint64_t(batch) + uint64_t(i);
      request.next = i + 1 < batch ? &requests[i + 1] : nullptr;
      request.sg_list = &entries[i];
      request.num_sge = 1;
      request.opcode = IBV_WR_RDMA_WRITE;
      request.send_flags = IBV_SEND_SIGNALED;
      request.wr.rdma = {0x1000, 9};
    }
    ibv_send_wr* bad;
    if (ibv_post_send(qp, requests, &bad) != 0) return 3;
    for (int left = batch; left > 0;) {
      const int got = ibv_poll_cq(cq, left, done);
      if (got < 0) return 4;
      left -= got;
    }
  }
  std::printf("%.3f\n", (seconds() - start) * 1e9 / (double(batches) * batch));
  return 0;
}
