// One end of a conversation: a soft device with a completion queue and a queue pair, driven without Node.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "soft/device.h"

namespace rdmc::driver {

// For what hangs: sanitizers are slow, and machines are busy.
constexpr auto kLimit = std::chrono::seconds(300);

[[noreturn]] inline void stop(const std::string& why) {
  std::fprintf(stderr, "soft-driver: %s\n", why.c_str());
  std::exit(3);
}

inline void expect(bool holds, const char* what) {
  if (!holds) stop(std::string("expected ") + what);
}

// For the transport `link`: TCP, whose connections wait for the link all the time and still end soon.
constexpr uint64_t kLinkRate = 10'000'000'000;

inline std::shared_ptr<SoftDevice> openDevice(const std::string& transport) {
  SoftOptions options;
  options.transport = transport == "link" ? "tcp" : transport;
  options.linkRate = transport == "link" ? kLinkRate : 0;
  options.host = "127.0.0.1";
  return std::make_shared<SoftDevice>(std::move(options));
}

// A region of a device with its address and key.
struct Memory {
  Memory(SoftDevice& device, uint32_t pd, uint64_t length)
      : device(device),
        index(device.allocateRegion(pd, length, kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic)) {
    const Region& region = device.regions().at(index);
    address = region.address;
    key = region.key.load();
  }
  uint8_t* data() const { return reinterpret_cast<uint8_t*>(address); }
  SoftDevice& device;
  const uint32_t index;
  uint64_t address = 0;
  uint32_t key = 0;
};

struct Side {
  explicit Side(const std::string& transport, uint32_t sendDepth = 256, uint32_t receiveDepth = 64)
      : device(openDevice(transport)), sendDepth(sendDepth), receiveDepth(receiveDepth) {
    pd = device->createProtectionDomain();
    cq = device->createCompletionQueue(64, -1);
    queue = device->completionQueue(cq);
    qp = addQp();
  }
  uint32_t addQp() { return device->createQueuePair({pd, cq, cq, sendDepth, receiveDepth}); }
  std::future<bool> connect(uint32_t own, const AddressFields& remote,
                            const ConnectParameters& parameters = {7, 10, 60'000}) {
    auto done = std::make_shared<std::promise<bool>>();
    device->connect(own, remote, parameters, [done](const Failure* failure) { done->set_value(failure == nullptr); });
    return done->get_future();
  }
  AddressFields address(uint32_t number) const { return device->addressOf(number); }
  uint32_t poll(CompletionSlot* out, uint32_t max) { return device->poll(*queue, out, max); }

  std::shared_ptr<SoftDevice> device;
  const uint32_t sendDepth, receiveDepth;
  uint32_t pd = 0, cq = 0, qp = 0;
  std::shared_ptr<CompletionQueue> queue;
};

inline void connectBoth(Side& a, uint32_t qpA, Side& b, uint32_t qpB) {
  auto one = a.connect(qpA, b.address(qpB));
  auto other = b.connect(qpB, a.address(qpA));
  expect(one.get() && other.get(), "both sides to connect");
}

inline WorkRequestSlot request(Opcode opcode, uint32_t qp, uint64_t id) {
  WorkRequestSlot slot{};
  slot.opcode = opcode;
  slot.queuePair = qp;
  slot.flags = kSignaled;
  slot.idLow = uint32_t(id);
  slot.idHigh = uint32_t(id >> 32);
  return slot;
}

inline void local(WorkRequestSlot& slot, const Memory& memory, uint64_t offset, uint32_t length) {
  const uint64_t at = memory.address + offset;
  slot.sge[slot.sgeCount++] = {uint32_t(at), uint32_t(at >> 32), length, memory.key};
}

inline void remote(WorkRequestSlot& slot, const Memory& memory, uint64_t offset) {
  const uint64_t at = memory.address + offset;
  slot.remoteLow = uint32_t(at);
  slot.remoteHigh = uint32_t(at >> 32);
  slot.rkey = memory.key;
}

inline void waitFor(WorkRequestSlot& slot, uint32_t queuePair, uint64_t receives) {
  slot.flags |= kWaitFor;
  slot.waits.entries[slot.waitCount++] = {queuePair, 0, uint32_t(receives), uint32_t(receives >> 32)};
}

// Posts one request, again while the queue is full.
inline void post(Side& side, WorkRequestSlot slot) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (side.device->post(&slot, 1) != 0) {
    if (slot.result != kQueueFull) stop("a request was refused: " + std::to_string(slot.result));
    if (std::chrono::steady_clock::now() > end) stop("a queue stays full");
    std::this_thread::yield();
  }
}

// Calls back for each of the next `count` completions.
template <typename Visit>
void take(Side& side, uint64_t count, Visit visit) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  CompletionSlot slots[64];
  while (count > 0) {
    const uint32_t got = side.poll(slots, uint32_t(std::min<uint64_t>(count, 64)));
    for (uint32_t i = 0; i < got; ++i) visit(slots[i]);
    count -= got;
    if (got > 0) continue;
    if (std::chrono::steady_clock::now() > end) stop(std::to_string(count) + " completions are missing");
    std::this_thread::yield();
  }
}

inline void succeeded(const CompletionSlot& completion) {
  if (completion.status != kSuccess) stop("a request ended with status " + std::to_string(completion.status));
}

}  // namespace rdmc::driver
