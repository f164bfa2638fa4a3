// Drives the soft device from several threads, both ends in one process, for the sanitizers:
//   soft-driver shm|tcp|link ROUNDS
// Ends with 0, with 3 where the device did wrong, or as the sanitizer ends it.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>

#include "core/raii.h"
#include "side.h"

namespace rdmc::driver {
namespace {

constexpr uint32_t kMessageBytes = 512;
constexpr uint32_t kSlots = 32;
constexpr uint32_t kLargeBytes = 3 << 20;

uint8_t patternAt(uint64_t message, uint32_t at) { return uint8_t(message * 31 + at * 7 + 1); }

// Sends numbered messages out of `from`, each of which the other side checks.
void sendMessages(Side& side, const Memory& from, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t slot = i % kSlots;
    // The slot's last message has completed: `kSlots` are under way at most.
    for (uint32_t at = 0; at < kMessageBytes; ++at) from.data()[slot * kMessageBytes + at] = patternAt(i, at);
    WorkRequestSlot send = request(kSendWithImm, side.qp, i);
    send.immediate = uint32_t(i);
    local(send, from, slot * kMessageBytes, kMessageBytes);
    post(side, send);
    take(side, 1, succeeded);
  }
}

void receiveMessages(Side& side, const Memory& into, uint64_t count) {
  const auto postReceive = [&](uint64_t i) {
    WorkRequestSlot receive = request(kReceive, side.qp, i);
    local(receive, into, i % kSlots * kMessageBytes, kMessageBytes);
    post(side, receive);
  };
  for (uint64_t i = 0; i < kSlots; ++i) postReceive(i);
  uint64_t next = 0;
  take(side, count, [&](const CompletionSlot& completion) {
    succeeded(completion);
    expect(completion.idLow == next && completion.immediate == next, "messages in order");
    const uint8_t* bytes = into.data() + next % kSlots * kMessageBytes;
    for (uint32_t at = 0; at < kMessageBytes; ++at) expect(bytes[at] == patternAt(next, at), "a message's bytes");
    postReceive(next + kSlots);
    ++next;
  });
}

void messages(const std::string& transport, uint64_t rounds) {
  Side a(transport), b(transport);
  connectBoth(a, a.qp, b, b.qp);
  const Memory from(*a.device, a.pd, kSlots * kMessageBytes), into(*b.device, b.pd, kSlots * kMessageBytes);
  std::thread receiver([&] { receiveMessages(b, into, rounds); });
  sendMessages(a, from, rounds);
  receiver.join();
  b.device->close();
  a.device->close();
}

// Sends on `out` what comes on `in`, by requests that were posted before it came.
void relayMessages(Side& side, uint32_t in, uint32_t out, const Memory& through, uint64_t count) {
  const auto postOne = [&](uint64_t i) {
    WorkRequestSlot receive = request(kReceive, in, i), send = request(kSendWithImm, out, i);
    for (WorkRequestSlot* each : {&receive, &send}) local(*each, through, i % kSlots * kMessageBytes, kMessageBytes);
    send.immediate = uint32_t(i);
    waitFor(send, in, i + 1);
    post(side, receive);
    post(side, send);
  };
  for (uint64_t i = 0; i < kSlots; ++i) postOne(i);
  uint64_t next = kSlots;
  take(side, 2 * count, [&](const CompletionSlot& completion) {
    succeeded(completion);
    if (completion.opcode == kCompletedSend) postOne(next++);
  });
}

void relays(const std::string& transport, uint64_t rounds) {
  Side a(transport), b(transport), c(transport);
  const uint32_t out = b.addQp();
  connectBoth(a, a.qp, b, b.qp);
  connectBoth(b, out, c, c.qp);
  const Memory from(*a.device, a.pd, kSlots * kMessageBytes), through(*b.device, b.pd, kSlots * kMessageBytes);
  const Memory into(*c.device, c.pd, kSlots * kMessageBytes);
  std::thread relay([&] { relayMessages(b, b.qp, out, through, rounds); });
  std::thread receiver([&] { receiveMessages(c, into, rounds); });
  sendMessages(a, from, rounds);
  relay.join();
  receiver.join();
  for (Side* side : {&b, &a, &c}) side->device->close();
}

// One of the relay's queue pairs fails while messages come: every request ends, and some thread notices.
void brokenRelays(const std::string& transport, uint64_t rounds) {
  constexpr uint64_t kCount = 8;
  for (uint64_t round = 0; round < rounds; ++round) {
    Side a(transport), b(transport), c(transport);
    const uint32_t out = b.addQp();
    connectBoth(a, a.qp, b, b.qp);
    connectBoth(b, out, c, c.qp);
    for (uint64_t i = 0; i < kCount; ++i) {
      WorkRequestSlot send = request(kSend, out, i);
      waitFor(send, b.qp, i + 1);
      post(c, request(kReceive, c.qp, i));
      post(b, request(kReceive, b.qp, i));
      post(b, send);
    }
    std::thread sender([&] {
      for (uint64_t i = 0; i < kCount; ++i) post(a, request(kSend, a.qp, i));
      if (round % 2 == 0) return;
      take(a, kCount, succeeded);
    });
    b.device->failQueuePair(round % 2 == 0 ? b.qp : out);
    uint64_t sends = 0;
    while (sends < kCount) take(b, 1, [&](const CompletionSlot& each) { sends += each.opcode == kCompletedSend; });
    sender.join();
    for (Side* side : {&b, &a, &c}) side->device->close();
  }
}

// WRITEs that announce themselves, READs back, and atomics, on several queue pairs from as many threads.
void oneSided(const std::string& transport, uint64_t rounds) {
  constexpr uint32_t kThreads = 3;
  Side b(transport);
  const Memory target(*b.device, b.pd, kThreads * kLargeBytes + 64);
  std::vector<std::unique_ptr<Side>> sides;
  for (uint32_t i = 0; i < kThreads; ++i) sides.push_back(std::make_unique<Side>(transport));
  for (auto& side : sides) connectBoth(*side, side->qp, b, b.addQp());
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Side& a = *sides[i];
      const Memory own(*a.device, a.pd, 2 * kLargeBytes);
      for (uint64_t round = 0; round < rounds; ++round) {
        std::memset(own.data(), int(round + i), kLargeBytes);
        WorkRequestSlot write = request(kWrite, a.qp, 1);
        local(write, own, 0, kLargeBytes);
        remote(write, target, 64 + i * kLargeBytes);
        post(a, write);
        WorkRequestSlot read = request(kRead, a.qp, 2);
        local(read, own, kLargeBytes, kLargeBytes);
        remote(read, target, 64 + i * kLargeBytes);
        post(a, read);
        WorkRequestSlot add = request(kFetchAndAdd, a.qp, 3);
        add.compareLow = 1;
        local(add, own, 0, 8);
        remote(add, target, 0);
        take(a, 2, succeeded);
        expect(std::memcmp(own.data() + 8, own.data() + kLargeBytes + 8, kLargeBytes - 8) == 0, "what was written");
        post(a, add);
        take(a, 1, succeeded);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  expect(__atomic_load_n(reinterpret_cast<uint64_t*>(target.data()), __ATOMIC_SEQ_CST) == kThreads * rounds,
         "every addition once");
  for (auto& side : sides) side->device->close();
  b.device->close();
}

// One thread polls while others make and close queue pairs and regions of the same device.
void lifecycle(const std::string& transport, uint64_t rounds) {
  Side a(transport), b(transport);
  std::atomic<bool> over{false};
  std::thread poller([&] {
    CompletionSlot slots[16];
    while (!over.load()) a.poll(slots, 16);
  });
  std::vector<std::thread> makers;
  for (int maker = 0; maker < 2; ++maker) {
    makers.emplace_back([&] {
      for (uint64_t round = 0; round < rounds; ++round) {
        // Two chunks and a half: threads share the chunks at both ends.
        const Memory memory(*a.device, a.pd, 5 << 19), other(*b.device, b.pd, 4096);
        const uint32_t near = a.addQp(), far = b.addQp();
        auto mine = a.connect(near, b.address(far)), theirs = b.connect(far, a.address(near));
        a.device->transportOf(near);  // perhaps in the middle of connecting
        a.device->attributesOf(near);
        expect(mine.get() && theirs.get(), "both sides to connect");
        WorkRequestSlot write = request(kWrite, near, round);
        write.flags = 0;
        local(write, memory, 0, 4096);
        remote(write, other, 0);
        post(a, write);
        b.device->destroyQueuePair(far);
        a.device->destroyQueuePair(near);
        a.device->closeRegion(memory.index);
        b.device->closeRegion(other.index);
      }
    });
  }
  for (auto& maker : makers) maker.join();
  over = true;
  poller.join();
  a.device->close();
  b.device->close();
}

// Whether `call` succeeded; if not, with that code.
template <typename Call>
bool unlessFailed(const char* code, Call call) {
  try {
    call();
    return true;
  } catch (const Failure& failure) {
    expect(failure.code == code, code);
    return false;
  }
}

// One thread makes something with an object that another closes: one of the two fails.
void closedBeneath(const std::string& transport, uint64_t rounds) {
  Side a(transport);
  std::atomic<uint64_t> round{0}, closed{0};
  std::atomic<int> channel{-1};
  std::atomic<uint32_t> queue{0};
  std::atomic<bool> closedChannel{false}, closedQueue{false};
  std::thread closer([&] {
    for (uint64_t i = 1; i <= rounds; ++i) {
      while (round.load() < i) cpuRelax();
      closedChannel = unlessFailed("ERR_RDMC_CHANNEL_BUSY", [&] { a.device->destroyChannel(channel); });
      closedQueue = unlessFailed("ERR_RDMC_COMPLETION_QUEUE_BUSY", [&] { a.device->destroyCompletionQueue(queue); });
      closed = i;
    }
  });
  for (uint64_t i = 1; i <= rounds; ++i) {
    channel = a.device->createChannel();
    queue = a.device->createCompletionQueue(64, -1);
    round = i;
    uint32_t onChannel = 0, onQueue = 0;
    const bool madeQueue =
        unlessFailed("ERR_RDMC_CHANNEL_CLOSED", [&] { onChannel = a.device->createCompletionQueue(64, channel); });
    const bool madeQp = unlessFailed("ERR_RDMC_COMPLETION_QUEUE_CLOSED", [&] {
      onQueue = a.device->createQueuePair({a.pd, queue, a.cq, a.sendDepth, a.receiveDepth});
    });
    while (closed.load() < i) cpuRelax();
    expect(madeQueue != closedChannel && madeQp != closedQueue, "one of two threads to fail");
    if (madeQp) a.device->destroyQueuePair(onQueue);
    if (!closedQueue) a.device->destroyCompletionQueue(queue);
    if (madeQueue) a.device->destroyCompletionQueue(onChannel);
    if (!closedChannel) a.device->destroyChannel(channel);
  }
  closer.join();
  a.device->close();
}

// Regions are revoked, and queue pairs broken, in the middle of transfers: from then on no byte changes.
void barriers(const std::string& transport, uint64_t rounds) {
  for (uint64_t round = 0; round < rounds; ++round) {
    Side a(transport), b(transport);
    connectBoth(a, a.qp, b, b.qp);
    const Memory from(*a.device, a.pd, kLargeBytes);
    const Memory into(*b.device, b.pd, kLargeBytes);
    std::thread writer([&] {
      for (int i = 0; i < 8; ++i) {
        WorkRequestSlot write = request(kWrite, a.qp, uint64_t(i));
        local(write, from, 0, kLargeBytes);
        remote(write, into, 0);
        post(a, write);
      }
      take(a, 8, [](const CompletionSlot&) {});
    });
    if (round % 2 == 0) {
      b.device->revokeRegion(into.index);
    } else {
      b.device->failQueuePair(b.qp);
    }
    // Not atomic: a byte that changes now is a race.
    std::memset(into.data(), 0x55, kLargeBytes);
    for (uint32_t at = 0; at < kLargeBytes; at += 4096) expect(into.data()[at] == 0x55, "no change after a barrier");
    writer.join();
    a.device->close();
    b.device->close();
  }
}

// Memory of the program is freed in the middle of transfers, of copies, and while another thread tries to close its
// region: after its eviction nothing touches it.
void evictions(const std::string& transport, uint64_t rounds) {
  const bool reachable = transport != "shm";
  for (uint64_t round = 0; round < rounds; ++round) {
    Side a(transport), b(transport);
    connectBoth(a, a.qp, b, b.qp);
    const Memory own(*a.device, a.pd, kLargeBytes), target(*a.device, a.pd, kLargeBytes),
        copied(*b.device, b.pd, kLargeBytes);
    // A part for each of those that use it.
    auto memory = std::make_unique<uint8_t[]>(4 * kLargeBytes);
    const uint32_t region = b.device->registerRegion(b.pd, memory.get(), 4 * kLargeBytes, kLocalWrite | kRemoteWrite);
    const auto address = reinterpret_cast<uint64_t>(memory.get());
    std::thread peer([&] {
      for (uint64_t i = 0; reachable && i < 8; ++i) {
        WorkRequestSlot write = request(kWrite, a.qp, i);
        local(write, own, 0, kLargeBytes);
        write.remoteLow = uint32_t(address);
        write.remoteHigh = uint32_t(address >> 32);
        write.rkey = region;
        post(a, write);
      }
      take(a, reachable ? 8 : 0, [](const CompletionSlot&) {});
    });
    std::thread sender([&] {
      uint64_t posted = 0;
      for (uint64_t i = 0; i < 8; ++i) {
        WorkRequestSlot write = request(i % 2 ? kRead : kWrite, b.qp, i);
        const uint64_t at = address + (1 + i % 2) * kLargeBytes;
        write.sge[write.sgeCount++] = {uint32_t(at), uint32_t(at >> 32), kLargeBytes, region};
        remote(write, i % 2 ? own : target, 0);
        if (b.device->post(&write, 1) == 0) ++posted;
      }
      take(b, posted, [](const CompletionSlot&) {});
    });
    std::thread copier([&] {
      RegionTable& regions = b.device->regions();
      while (Region* from = regions.beginCopy(address + 3 * kLargeBytes, kLargeBytes)) {
        std::memcpy(copied.data(), memory.get() + 3 * kLargeBytes, kLargeBytes);
        RegionTable::endCopy(from);
      }
    });
    std::thread closer([&] {
      for (int i = 0; i < 100; ++i) {
        try {
          b.device->closeRegion(region);
          return;
        } catch (const Failure&) {
          // Busy, or evicted.
        }
      }
    });
    std::this_thread::yield();
    b.device->evictRegion(region);
    std::memset(memory.get(), 0x55, 4 * kLargeBytes);
    copier.join();
    memory.reset();
    for (std::thread* each : {&peer, &sender, &closer}) each->join();
    a.device->close();
    b.device->close();
  }
}

// A device is closed while others use it.
void closing(const std::string& transport, uint64_t rounds) {
  for (uint64_t round = 0; round < rounds; ++round) {
    Side a(transport), b(transport);
    connectBoth(a, a.qp, b, b.qp);
    const Memory from(*a.device, a.pd, 65536), into(*b.device, b.pd, 65536);
    std::thread writer([&] {
      for (int i = 0; i < 64; ++i) {
        WorkRequestSlot write = request(kWriteWithImm, a.qp, uint64_t(i));
        local(write, from, 0, 65536);
        remote(write, into, 0);
        post(a, write);
      }
      take(a, 64, [](const CompletionSlot&) {});
    });
    for (int i = 0; i < 8; ++i) post(b, request(kReceive, b.qp, uint64_t(i)));
    b.device->close();
    writer.join();
    a.device->close();
  }
}

std::vector<int> connectionsOverTcp() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.ss_family == AF_INET) found.push_back(fd);  // and not a standard stream
  }
  return found;
}

// A process that is being started has copies of every descriptor, so that closing one does not end its socket: what
// happens to that socket then must not reach the connection, which is gone.
void copiedSockets() {
  Side a("tcp"), b("tcp");
  connectBoth(a, a.qp, b, b.qp);
  std::vector<Fd> copies;
  for (const int fd : connectionsOverTcp()) copies.emplace_back(::dup(fd));
  b.device->destroyQueuePair(b.qp);
  a.device->destroyQueuePair(a.qp);
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (connectionsOverTcp().size() > copies.size()) {
    if (std::chrono::steady_clock::now() > end) stop("connections of closed queue pairs stay open");
    std::this_thread::yield();
  }
  for (const Fd& copy : copies) ::shutdown(copy.get(), SHUT_RDWR);
  // Both devices have looked at their sockets by the time they have connected again.
  connectBoth(a, a.addQp(), b, b.addQp());
  b.device->close();
  a.device->close();
}

}  // namespace
}  // namespace rdmc::driver

int main(int count, char** arguments) {
  using namespace rdmc::driver;
  if (count != 3) stop("usage: soft-driver shm|tcp|link ROUNDS");
  const std::string transport = arguments[1];
  const uint64_t rounds = std::strtoull(arguments[2], nullptr, 10);
  messages(transport, rounds * 50);
  relays(transport, rounds * 20);
  brokenRelays(transport, rounds);
  oneSided(transport, rounds);
  lifecycle(transport, rounds * 4);
  closedBeneath(transport, rounds * 40);
  barriers(transport, rounds);
  closing(transport, rounds);
  evictions(transport, rounds);
  if (transport == "tcp") copiedSockets();
  std::printf("soft-driver: %s passed\n", arguments[1]);
  return 0;
}
