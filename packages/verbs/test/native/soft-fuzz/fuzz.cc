// One input, for libFuzzer or for loop.cc.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rdmc::fuzz;
  if (size < 1) return 0;
  constexpr void (*kAll[kTargets])(const uint8_t*, size_t) = {tcpListener, tcpPeer, link, control};
  kAll[data[0] % kTargets](data + 1, size - 1);
  return 0;
}
