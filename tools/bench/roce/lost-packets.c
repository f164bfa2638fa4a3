// Long messages over soft-RoCE where packets are lost: libibverbs alone, without this repository's code.
//   cc -O2 -o /tmp/lost-packets tools/bench/roce/lost-packets.c -libverbs
//   roce-vm run --loss 2% -- /tmp/lost-packets rxe0 rxe1 65536 64 6
// SENDs of that many bytes, one after the other up to a window, from one device to another of the same host (GID index 1). Arguments:
// devices, bytes of a message, messages, retry_cnt (7: rxe retries for ever), the exponent of the time-out (default 16, 268 ms), the
// number of connections (default 1), and `both` if each side sends. Prints what became of the first request that failed, or that all
// succeeded, and what the first device has counted.
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GID_INDEX = 1, WINDOW = 4, DEPTH = 16, LIMIT_SECONDS = 240 };

typedef struct {
  struct ibv_context *context;
  struct ibv_pd *pd;
  struct ibv_cq *cq;
  struct ibv_qp *qp;
  struct ibv_mr *mr;
  union ibv_gid gid;
  int posted, sent;
} Side;

static void require(int holds, const char *what) {
  if (holds) return;
  perror(what);
  exit(1);
}

static Side open_side(const char *name, size_t bytes) {
  Side side = {0};
  int count = 0;
  struct ibv_device **list = ibv_get_device_list(&count);
  for (int i = 0; i < count; i += 1)
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) side.context = ibv_open_device(list[i]);
  require(side.context != NULL, name);
  side.pd = ibv_alloc_pd(side.context);
  side.cq = ibv_create_cq(side.context, 2 * DEPTH, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {
      .send_cq = side.cq,
      .recv_cq = side.cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1},
  };
  side.qp = ibv_create_qp(side.pd, &init);
  require(side.qp != NULL, "ibv_create_qp");
  void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  memset(memory, 7, bytes);
  side.mr = ibv_reg_mr(side.pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
  require(side.mr != NULL, "ibv_reg_mr");
  require(ibv_query_gid(side.context, 1, GID_INDEX, &side.gid) == 0, "ibv_query_gid");
  return side;
}

static void join(Side *side, const Side *peer, int retries, int timeout) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_LOCAL_WRITE};
  require(ibv_modify_qp(side->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
  struct ibv_qp_attr receive = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_4096,
      .dest_qp_num = peer->qp->qp_num,
      .min_rnr_timer = 12,
      .max_dest_rd_atomic = 1,
      .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 64}},
  };
  require(ibv_modify_qp(side->qp, &receive,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "RTR");
  struct ibv_qp_attr send = {
      .qp_state = IBV_QPS_RTS, .timeout = timeout, .retry_cnt = retries, .rnr_retry = 7, .max_rd_atomic = 1};
  require(ibv_modify_qp(side->qp, &send,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "RTS");
}

enum { RECEIVE, SEND };

static void post_receive(Side *side) {
  struct ibv_sge sge = {(uintptr_t)side->mr->addr, (uint32_t)side->mr->length, side->mr->lkey};
  struct ibv_recv_wr request = {.wr_id = RECEIVE, .sg_list = &sge, .num_sge = 1}, *bad;
  require(ibv_post_recv(side->qp, &request, &bad) == 0, "ibv_post_recv");
}

static void post_send(Side *side) {
  struct ibv_sge sge = {(uintptr_t)side->mr->addr, (uint32_t)side->mr->length, side->mr->lkey};
  struct ibv_send_wr request = {
      .wr_id = SEND, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED},
      *bad;
  require(ibv_post_send(side->qp, &request, &bad) == 0, "ibv_post_send");
}

// Posts what the window allows, from one side to the other.
static void advance(Side *from, Side *to, int messages) {
  for (; from->posted < messages && from->posted - from->sent < WINDOW; from->posted += 1) {
    post_receive(to);
    post_send(from);
  }
}

static void poll(Side *side, enum ibv_wc_status *failure) {
  struct ibv_wc wc;
  while (ibv_poll_cq(side->cq, 1, &wc) > 0) {
    if (wc.status == IBV_WC_SUCCESS) {
      if (wc.wr_id == SEND) side->sent += 1;
    } else if (*failure == IBV_WC_SUCCESS) *failure = wc.status;
  }
}

static const char *const kCounters[] = {"rcvd_seq_err", "completer_retry_err", "duplicate_request", "retry_exceeded_err"};
enum { COUNTERS = sizeof kCounters / sizeof *kCounters };

static void read_counters(const char *device, long values[COUNTERS]) {
  for (int i = 0; i < COUNTERS; i += 1) {
    char path[256];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/hw_counters/%s", device, kCounters[i]);
    FILE *file = fopen(path, "r");
    values[i] = 0;
    if (file == NULL) continue;
    if (fscanf(file, "%ld", &values[i]) != 1) values[i] = 0;
    fclose(file);
  }
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "lost-packets DEVICE DEVICE BYTES MESSAGES RETRY_CNT [TIMEOUT [CONNECTIONS [both]]]\n");
    return 2;
  }
  const size_t bytes = strtoul(argv[3], NULL, 10);
  const int messages = atoi(argv[4]), retries = atoi(argv[5]), timeout = argc > 6 ? atoi(argv[6]) : 16;
  const int pairs = argc > 7 ? atoi(argv[7]) : 1, both = argc > 8 && strcmp(argv[8], "both") == 0;
  Side *from = calloc(pairs, sizeof *from), *to = calloc(pairs, sizeof *to);
  for (int i = 0; i < pairs; i += 1) {
    from[i] = open_side(argv[1], bytes);
    to[i] = open_side(argv[2], bytes);
    join(&from[i], &to[i], retries, timeout);
    join(&to[i], &from[i], retries, timeout);
  }
  long before[COUNTERS], after[COUNTERS];
  read_counters(argv[1], before);
  const int all = messages * pairs * (both ? 2 : 1);
  int sent = 0;
  enum ibv_wc_status failure = IBV_WC_SUCCESS;
  const time_t end = time(NULL) + LIMIT_SECONDS;
  while (sent < all && failure == IBV_WC_SUCCESS && time(NULL) < end) {
    sent = 0;
    for (int i = 0; i < pairs; i += 1) {
      advance(&from[i], &to[i], messages);
      if (both) advance(&to[i], &from[i], messages);
      poll(&from[i], &failure);
      poll(&to[i], &failure);
      sent += from[i].sent + to[i].sent;
    }
  }
  const char *result = failure != IBV_WC_SUCCESS ? ibv_wc_status_str(failure) : sent == all ? "all sent" : "no end";
  printf("%zu bytes, %d connections%s: %s, %d of %d sent;", bytes, pairs, both ? ", both ways" : "", result, sent, all);
  read_counters(argv[1], after);
  for (int i = 0; i < COUNTERS; i += 1) printf(" %s %ld", kCounters[i], after[i] - before[i]);
  printf("\n");
  fflush(stdout);
  return 0;
}
