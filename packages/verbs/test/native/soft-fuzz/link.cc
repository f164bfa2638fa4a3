#include "link_input.h"
#include "sockets.h"
#include "soft/device.h"
#include "soft/shm/transport.h"
#include "targets.h"

namespace rdmc::fuzz {
namespace {

SoftDevice& device() {
  static auto* instance = [] {
    SoftOptions options;
    options.transport = "shm";
    auto* made = new SoftDevice(std::move(options));
    const uint32_t pd = made->createProtectionDomain(), cq = made->createCompletionQueue(64, -1);
    made->createQueuePair({pd, cq, cq, 16, 16, true});
    made->allocateRegion(pd, 4096, kLocalWrite | kRemoteWrite);
    return made;
  }();
  return *instance;
}

}  // namespace

// Messages (see link_input.h). Bit 7 of the first byte: greets properly first.
void link(const uint8_t* data, size_t size) {
  const Fd socket = dialLink(device().id());
  if (size > 0 && data[0] & 0x80) {
    LinkMessage hello = linkMessage(kHello);
    hello.hello.version = kControlVersion;
    sendLinkMessage(socket.get(), hello);
  }
  Input input(data, size);
  sendMessages(socket, input);
  finish(socket);
}

}  // namespace rdmc::fuzz
