// Who has to leave when a stranger comes:
//   soft-strangers CASE
// Ends with 0, or with 3 where the wrong one leaves.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "soft/strangers.h"

namespace rdmc {
namespace {

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "soft-strangers: %s\n", why.c_str());
  std::exit(3);
}

void expect(uint64_t leaves, uint64_t expected) {
  if (leaves != expected) stop(std::to_string(leaves) + " leaves in place of " + std::to_string(expected));
}

Strangers::Address address(size_t number) { return {uint8_t(number), uint8_t(number >> 8)}; }

// A full address makes room itself, though another one has an older stranger.
void oneAddress() {
  Strangers strangers;
  expect(strangers.add(1, address(1)), 0);
  for (uint64_t id = 2; id < 2 + kMaxStrangersOfOneAddress; ++id) expect(strangers.add(id, address(2)), 0);
  expect(strangers.add(10'000, address(2)), 2);
  expect(strangers.add(10'001, address(1)), 0);
}

// Of all addresses together, the oldest leaves; who has left, or has proved the key, does not count.
void all() {
  Strangers strangers;
  for (uint64_t id = 1; id <= kMaxStrangers; ++id) expect(strangers.add(id, address(id)), 0);
  expect(strangers.add(10'000, address(10'000)), 1);
  strangers.remove(7);
  expect(strangers.add(10'001, address(10'001)), 0);
  expect(strangers.add(10'002, address(10'002)), 2);
}

// Who has said something leaves after those who have not.
void silent() {
  Strangers strangers;
  for (uint64_t id = 1; id <= kMaxStrangersOfOneAddress; ++id) strangers.add(id, address(1));
  strangers.spoke(1);
  strangers.spoke(2);
  expect(strangers.add(10'000, address(1)), 3);
  for (uint64_t id = 4; id <= 10'000; ++id) strangers.spoke(id);
  expect(strangers.add(10'001, address(1)), 1);
}

}  // namespace
}  // namespace rdmc

int main(int count, char** arguments) {
  using namespace rdmc;
  const std::map<std::string, void (*)()> cases{{"one-address", oneAddress}, {"all", all}, {"silent", silent}};
  if (count != 2 || !cases.contains(arguments[1])) stop("usage: soft-strangers CASE");
  cases.at(arguments[1])();
  return 0;
}
