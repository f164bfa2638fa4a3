// A libibverbs.so.1 for tests: devices that do not exist, whose queue pairs reach each other within one process.
// It has the library's symbols with the library's versions, and a provider behind the header's inline functions.
//
// What it pretends comes from the environment, read when a device is listed or opened:
//
//   FAKE_IBVERBS_DEVICES      names, separated by commas (default fake0; empty: none)
//   FAKE_IBVERBS_STATE        active (default), down, armed
//   FAKE_IBVERBS_LINK         ethernet (default), infiniband
//   FAKE_IBVERBS_GIDS         type/address, separated by commas (default: link-local v1 and v2, 10.0.0.1 v2)
//   FAKE_IBVERBS_TRANSPORT    ib (default), iwarp
//   FAKE_IBVERBS_MTU          active MTU in bytes (default 4096)
//   FAKE_IBVERBS_LIMITS       name=number, separated by commas: qp_wr, cqe, sge, inline, msg, atomics, resize,
//                             order (0: WRITEs may be placed in any order);
//                             queue (bytes a send or a receive queue may have); late=0 (receives are refused in the
//                             error state); dereg=1 (memory is kept while its queue pairs work), dereg=2 (always)
//   FAKE_IBVERBS_RXE          1: as rdma_rxe, whose failed sends are not solicited and whose queue pairs do not tell
//                             that they are through with a shared receive queue; a send that fails because the port is
//                             down stops a queue pair whose earlier sends are under way: nothing of it completes
//   FAKE_IBVERBS_OPEN_ERRNO   opening fails with this number
//   FAKE_IBVERBS_REG_ERRNO    registering memory fails with this number
//   FAKE_IBVERBS_SLOW_MS      how long resolving an address takes
//   FAKE_IBVERBS_GATE         resolving an address creates the file GATE.reached, and waits while GATE exists
//   FAKE_IBVERBS_FOLDER       DEVICE/ in it is the device's sysfs entry, DEVICE.events a fifo that asynchronous
//                             events are read from: u32 type, u32 port or queue pair number. Type 1000 is not an event:
//                             the number is what becomes of the device's packets from then on (enum Link)
//   FAKE_IBVERBS_SINK         1: requests complete at once and move nothing; for measuring what is above it
//
// Misuse that a real library would punish with a hang or a crash ends the process with a message.
#pragma once
#include <infiniband/verbs.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fake {

using Gid = std::array<uint8_t, 16>;

struct GidEntry {
  Gid gid;
  uint32_t index, port, type, interfaceIndex;
};

struct Device {
  ibv_device base{};
  std::string name;
};

// What becomes of the packets of a device. Lost ones vanish silently.
enum class Link : uint32_t {
  kUp,
  kCut,   // all are lost
  kDeaf,  // those on their way to it
  kMute,  // those on their way from it
  kDown,  // all; and likeRxe: its own cannot even be sent
  kLost,  // all, and the driver forgets its requests: they never complete
};
constexpr uint32_t kLinkChange = 1000;

struct Context {
  // `verbs_context` puts its extensions before the plain context.
  verbs_context extended{};
  Device* device;
  int port = 1;
  Link link = Link::kUp;  // under the world's mutex
};

struct Channel {
  ibv_comp_channel base{};
  int write;
};

struct Cq {
  ibv_cq base{};
  std::deque<ibv_wc> ring;
  int armed = 0;  // 1: any, 2: solicited only
  uint32_t unacknowledged = 0;
};

struct Mr {
  ibv_mr base{};
  int access;
};

struct Send {
  ibv_send_wr request;
  std::vector<ibv_sge> entries;
  std::vector<uint8_t> inlined;
  bool executed = false;  // and its acknowledgement is on its way
};

struct Receive {
  uint64_t id;
  std::vector<ibv_sge> entries;
};

struct Srq {
  ibv_srq base{};
  std::deque<Receive> ring;
  uint32_t depth;
};

struct Qp {
  ibv_qp base{};
  ibv_qp_attr attributes{};
  ibv_qp_cap cap{};
  bool signalAll;
  std::deque<Send> sends;
  std::deque<Receive> receives;
  int64_t deadlineNs = 0;  // until when an unreachable peer is tried; 0: not trying
  size_t underWay = 0;     // sends that were posted before the port went down
  bool stopped = false;    // likeRxe
};

// Everything, under one lock: exactness matters here, not speed.
struct World {
  std::mutex mutex;
  std::condition_variable work;
  bool poked = false, running = false;
  std::map<uint32_t, Qp*> qps;
  std::map<uint32_t, Mr*> byLocalKey, byRemoteKey;
  uint32_t nextQp = 0x11, nextKey = 0x100;
};
World& world();

std::string setting(const char* name, const char* otherwise);
long limit(const char* name, long otherwise);
bool sink();
[[noreturn]] void misuse(const char* what);

std::vector<GidEntry> gids();
void complete(Qp& qp, bool receive, uint64_t id, ibv_wc_status status, ibv_wc_opcode opcode, uint32_t bytes,
              bool solicited, const uint32_t* immediate = nullptr);
void flush(Qp& qp);
// The error state: everything is flushed, and the last use of a shared receive queue told.
void breakOff(Qp& qp);
bool likeRxe();
// Whether the port of the queue pair takes requests: it is neither down nor does its driver lose them.
bool portMoves(const Qp& qp);
Context* contextOf(ibv_context* context);
// Wakes the thread that moves the requests of all queue pairs, as a device would: never in the thread that posts.
void poke();

inline Cq& cqOf(ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
int pollCq(ibv_cq* cq, int count, ibv_wc* out);
int armCq(ibv_cq* cq, int solicitedOnly);
int postSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int postReceive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int postShared(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);
int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t length);

}  // namespace fake
