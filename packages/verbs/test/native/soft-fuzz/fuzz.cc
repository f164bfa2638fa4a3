// One input, for libFuzzer or for loop.cc. With RDMC_FUZZ_TARGET, every input goes to that target.
#include <cstdlib>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rdmc::fuzz;
  if (size < 1) return 0;
  static const char* only = std::getenv("RDMC_FUZZ_TARGET");
  constexpr void (*kAll[kTargets])(const uint8_t*, size_t) = {
      tcpListener, tcpPeer, link, control, keyedTcpListener, keyedTcpDialler, keyedLink, linkListener};
  const unsigned target = only ? static_cast<unsigned>(std::atoi(only)) : data[0];
  kAll[target % kTargets](data + 1, size - 1);
  return 0;
}
