#include <cstring>
#include <future>

#include "sockets.h"
#include "soft/address.h"
#include "soft/device.h"
#include "soft/tcp/frame.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

// A device with a region, a completion queue and receives, as a hostile peer meets it.
struct Victim {
  Victim() {
    SoftOptions options;
    options.transport = "tcp";
    options.host = "127.0.0.1";
    device = std::make_shared<SoftDevice>(std::move(options));
    pd = device->createProtectionDomain();
    cq = device->createCompletionQueue(64, -1);
    const uint32_t access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
    region = device->allocateRegion(pd, kBytes, access);
  }
  static constexpr uint64_t kBytes = 64 << 10;
  void drain() {
    CompletionSlot slots[64];
    const auto queue = device->completionQueue(cq);
    while (device->poll(*queue, slots, 64) > 0) {
    }
  }
  std::shared_ptr<SoftDevice> device;
  uint32_t pd = 0, cq = 0, region = 0;
};

Victim& victim() {
  static auto* instance = new Victim;
  return *instance;
}

TcpHello helloFor(const SoftDevice& device, uint32_t initiator, uint32_t target) {
  TcpHello hello{};
  hello.magic = kTcpMagic;
  hello.version = kTcpVersion;
  hello.initiator = initiator;
  hello.target = target;
  hello.retryTimeoutMs = 2000;
  hello.initiatorDevice.fill(7);
  hello.targetDevice = device.id();
  return hello;
}

// Requests that the victim has under way towards the hostile peer, so that its answers mean something.
void postSome(Victim& v, uint32_t qp) {
  const Region& region = v.device->regions().at(v.region);
  const Sge entry{uint32_t(region.address), uint32_t(region.address >> 32), 512, region.key.load()};
  WorkRequestSlot slots[5] = {};
  const uint32_t opcodes[] = {kReceive, kReceive, kRead, kFetchAndAdd, kWrite};
  for (int i = 0; i < 5; ++i) {
    slots[i].opcode = opcodes[i];
    slots[i].queuePair = qp;
    slots[i].flags = kSignaled;
    slots[i].sgeCount = 1;
    slots[i].sge[0] = entry;
    if (opcodes[i] == kFetchAndAdd) slots[i].sge[0].length = 8;
  }
  v.device->post(slots, 5);
}

}  // namespace

void tcpListener(const uint8_t* data, size_t size) {
  Victim& v = victim();
  const Fd socket = dialLoopback(v.device->tcpPort());
  sendAll(socket, data, size);
  finish(socket);
}

void tcpPeer(const uint8_t* data, size_t size) {
  Victim& v = victim();
  static HostileListener listener;
  constexpr uint32_t kOwnQp = 1;
  const uint32_t qp = v.device->createQueuePair({v.pd, v.cq, v.cq, 16, 16, true});
  SoftAddress hostile;
  hostile.device.fill(7);
  hostile.queuePair = kOwnQp;
  hostile.transport = "tcp";
  hostile.tcpHost = "127.0.0.1";
  hostile.tcpPort = listener.port;
  auto done = std::make_shared<std::promise<void>>();
  v.device->connect(qp, hostile.fields(), ConnectParameters{7, 10, 2000},
                    [done](const Failure*) { done->set_value(); });
  // The victim dials: it is welcomed and admitted.
  const Fd answers = listener.accept();
  TcpHello hello{};
  require(receiveAll(answers, &hello, sizeof hello), "the device does not greet");
  const TcpReply welcome{kTcpMagic, kTcpVersion, kTcpWelcome, 0, {}};
  sendAll(answers, &welcome, sizeof welcome);
  done->get_future().wait();
  const TcpResponse admitted{kTcpAdmitted, 0, 0, 0, 0, 0, 0};
  sendAll(answers, &admitted, sizeof admitted);
  // The hostile side dials as well, and is admitted.
  const Fd requests = dialLoopback(v.device->tcpPort());
  const TcpHello own = helloFor(*v.device, kOwnQp, qp);
  sendAll(requests, &own, sizeof own);
  TcpReply reply{};
  TcpResponse admission{};
  require(receiveAll(requests, &reply, sizeof reply) && reply.kind == kTcpWelcome, "the device does not welcome");
  require(receiveAll(requests, &admission, sizeof admission), "the device does not admit");
  postSome(v, qp);
  // The first byte says how many bytes are answers; the rest are requests. %R stands for the region: its key and
  // address.
  const size_t answered = size > 0 ? std::min<size_t>(data[0], size - 1) : 0;
  if (size > 0) {
    sendAll(answers, data + 1, answered);
    const size_t length = size - 1 - answered;
    std::vector<uint8_t> frames(data + 1 + answered, data + 1 + answered + length);
    // Frames of 48 bytes whose byte 1 has the top bit name the victim's region, so that inputs reach beyond its checks.
    const Region& region = v.device->regions().at(v.region);
    for (size_t at = 0; at + sizeof(TcpRequest) <= frames.size(); at += sizeof(TcpRequest)) {
      if (!(frames[at + 1] & 0x80)) continue;
      TcpRequest request;
      std::memcpy(&request, frames.data() + at, sizeof request);
      request.flags &= 0x7f;
      request.rkey = region.key.load();
      request.remote = region.address + request.remote % (Victim::kBytes + 64);
      std::memcpy(frames.data() + at, &request, sizeof request);
    }
    sendAll(requests, frames.data(), frames.size());
  }
  ::shutdown(answers.get(), SHUT_WR);
  finish(requests);
  finish(answers);
  v.device->destroyQueuePair(qp);
  v.drain();
}

}  // namespace rdmc::fuzz
