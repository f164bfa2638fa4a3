// The link of a TCP device, driven by a clock of this program:
//   soft-link CASE
// Ends with 0, or with 3 where the link did wrong.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "soft/tcp/frame.h"
#include "soft/tcp/link.h"

namespace rdmc {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 50 * kSecond;
int64_t startClock() { return kStart; }

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "soft-link: %s\n", why.c_str());
  std::exit(3);
}

void expect(bool holds, const std::string& what) {
  if (!holds) stop("expected " + what);
}

// One direction of a link whose connections always have more to move, and the NIC thread that gives them turns.
class World {
 public:
  World(uint64_t rate, std::vector<uint64_t> connections) : link_(rate), ready_(std::move(connections)) {}

  // Runs for a while. The thread wakes `lateNs` after the time that the link asks for.
  void run(int64_t ns, int64_t lateNs) {
    const int64_t end = now_ + ns;
    while (now_ < end) {
      turns();
      if (!ready_.empty()) continue;
      now_ = std::max(now_, link_.wakeNs()) + lateNs;
      call();
    }
  }
  uint64_t moved(uint64_t connection) const { return moved_.at(connection); }
  uint64_t wire() const { return wire_; }
  void idle(int64_t ns) { now_ += ns; }
  // Moves less than a turn allows.
  void limit(uint64_t connection, size_t bytes) { limits_[connection] = bytes; }
  void weigh(uint64_t connection, uint32_t weight) { weights_[connection] = weight; }
  TcpLink& link() { return link_; }
  int64_t now() const { return now_; }

 private:
  uint32_t weightOf(uint64_t connection) const { return weights_.count(connection) ? weights_.at(connection) : 1; }
  void turns() {
    std::vector<uint64_t> turns;
    turns.swap(ready_);
    for (const uint64_t connection : turns) {
      if (link_.egress.pass(connection, weightOf(connection), now_)) {
        const size_t bytes = limits_.count(connection) ? limits_[connection] : link_.turnBytes();
        link_.sent(bytes);
        moved_[connection] += bytes;
        wire_ += tcpWireBytes(bytes);
        ready_.push_back(connection);
      }
      link_.turnEnded(connection);
    }
    call();
  }
  void call() {
    if (const uint64_t connection = link_.egress.next(now_)) ready_.push_back(connection);
  }

  TcpLink link_;
  std::vector<uint64_t> ready_;
  std::map<uint64_t, uint64_t> moved_;
  uint64_t wire_ = 0;  // headers included
  std::map<uint64_t, size_t> limits_;
  std::map<uint64_t, uint32_t> weights_;
  int64_t now_ = kStart;
};

// Bytes of what an idle link catches up, and of the debt at the end.
uint64_t slackOf(World& world, uint64_t rate) {
  return rate / 8 * kTcpLinkBurstNs / kSecond + 2 * tcpWireBytes(world.link().turnBytes());
}

// In ten seconds as many bytes pass as the rate says, however often and however late the thread wakes up.
void rate() {
  for (const uint64_t rate : {1'000'000ull, 3'333'333ull, 400'000'000ull, 10'000'000'000ull}) {
    for (const int64_t late : {int64_t{0}, int64_t{1}, kMs, 2 * kMs}) {
      World world(rate, {1, 2, 3});
      world.run(10 * kSecond, late);
      const uint64_t due = rate / 8 * 10, slack = slackOf(world, rate);
      expect(world.wire() <= due + slack && world.wire() + slack >= due,
             std::to_string(due) + " bytes at " + std::to_string(rate) + " bit/s, " + std::to_string(late) +
                 " ns late, not " + std::to_string(world.wire()));
    }
  }
}

// No window of time carries more than its share, the burst and a quantum, also after an idle hour.
void burst() {
  constexpr uint64_t kRate = 400'000'000;
  World world(kRate, {1});
  world.idle(3600 * kSecond);
  world.run(kMs, 0);
  expect(world.wire() <= slackOf(world, kRate) + kRate / 8 / 1000, "a small burst");
  expect(world.wire() >= kRate / 8 * kTcpLinkBurstNs / kSecond, "a burst");
}

// A link of any rate carries a frame, and one of a usual rate moves 64 KiB in a turn.
void quantum() {
  expect(TcpLink(1'000'000).turnBytes() == kTcpLinkFrameBytes, "a frame at 1 Mbit/s");
  expect(TcpLink(400'000'000).turnBytes() >= 64 << 10, "64 KiB at 400 Mbit/s");
  expect(tcpWireBytes(1) == 67 && tcpWireBytes(1448) == 1514 && tcpWireBytes(1449) == 1581, "headers for each frame");
  expect(TcpLink(1'000'000'000'000).turnBytes() == kTcpTurnBytes, "a turn's limit at 1 Tbit/s");
  expect(TcpLink(0).turnBytes() == kTcpTurnBytes, "a turn's limit without a rate");
}

// Many connections get the same share: the rate belongs to the link.
void fair() {
  constexpr uint64_t kRate = 100'000'000;
  World world(kRate, {1, 2, 3, 4, 5, 6, 7});
  world.run(10 * kSecond, kMs);
  uint64_t total = 0;
  for (uint64_t connection = 1; connection <= 7; ++connection) total += world.moved(connection);
  for (uint64_t connection = 1; connection <= 7; ++connection) {
    const uint64_t share = total / 7, moved = world.moved(connection);
    const uint64_t apart = moved > share ? moved - share : share - moved;
    expect(apart <= 2 * world.link().turnBytes(), "connection " + std::to_string(connection) + " to have a share of " +
                                                      std::to_string(share) + ", not " + std::to_string(moved));
  }
}

// A connection has as many turns as its weight for each turn of another, and leaves the link to the others when it has
// nothing to send.
void weights() {
  World world(100'000'000, {1, 2, 3});
  world.weigh(2, 4);
  world.run(10 * kSecond, kMs);
  const uint64_t quantum = world.link().turnBytes(), plain = world.moved(1) / quantum;
  const uint64_t weighty = world.moved(2) / quantum, other = world.moved(3) / quantum;
  expect(plain + 1 >= other && other + 1 >= plain, "the same share for the same weight");
  expect(weighty + 4 >= 4 * plain && weighty <= 4 * plain + 4,
         "four turns for each of " + std::to_string(plain) + ", not " + std::to_string(weighty));
}

// A connection of small messages has as many turns as one of large ones, and does not use up theirs.
void small() {
  World world(100'000'000, {1, 2});
  world.limit(2, 64);
  world.run(kSecond, 0);
  const uint64_t large = world.moved(1) / world.link().turnBytes(), little = world.moved(2) / 64;
  expect(large + 2 >= little && little + 2 >= large, "as many turns for small messages");
}

// A called connection that does not use its turn, because it is full or has ended, does not hold up the others.
void unused() {
  TcpLink link(1'000'000);
  int64_t now = kStart;
  expect(link.egress.pass(1, 1, now), "an idle link to be open");
  link.sent(1 << 20);
  for (const uint64_t connection : {1, 2, 3}) expect(!link.egress.pass(connection, 1, now), "a debt to close the link");
  now = link.wakeNs();
  expect(link.egress.next(now) == 1, "the first to be called");
  expect(link.egress.next(now) == 0, "one call at a time");
  expect(!link.egress.pass(3, 1, now), "those that were not called to wait");
  link.turnEnded(1);
  expect(link.egress.next(now) == 2, "the second to be called");
  expect(link.egress.pass(2, 1, now), "the called one to pass");
  link.sent(1 << 20);
  link.turnEnded(2);
  expect(link.wakeNs() > now, "the third to wait");
  expect(link.egress.next(link.wakeNs()) == 3, "the third to be called");
}

// The directions are separate.
void directions() {
  TcpLink link(1'000'000);
  link.sent(1 << 20);
  expect(link.maySend(1, 1, startClock), "what was moved before the first turn not to count");
  link.sent(1 << 20);
  expect(!link.maySend(1, 1, startClock), "a debt to close the link");
  expect(link.mayReceive(1, startClock), "the other direction to be open");
  TcpLink fast(0);
  fast.sent(size_t{1} << 40);
  expect(fast.maySend(1, 1, startClock) && fast.wakeNs() == INT64_MAX, "no limit without a rate");
}

}  // namespace
}  // namespace rdmc

int main(int count, char** arguments) {
  using namespace rdmc;
  const std::map<std::string, void (*)()> cases{
      {"rate", rate},   {"burst", burst},   {"quantum", quantum},      {"fair", fair},
      {"small", small}, {"unused", unused}, {"directions", directions}, {"weights", weights}};
  if (count != 2 || !cases.contains(arguments[1])) stop("usage: soft-link CASE");
  cases.at(arguments[1])();
  return 0;
}
