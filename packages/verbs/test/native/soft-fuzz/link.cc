#include <sys/mman.h>

#include <cstring>

#include "sockets.h"
#include "soft/device.h"
#include "soft/shm/link_message.h"
#include "soft/shm/socket.h"
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

// A file of another size than any that the device expects.
Fd smallFile() {
  Fd file(::memfd_create("rdmc-fuzz", MFD_CLOEXEC));
  require(::ftruncate(file.get(), 4096) == 0, "cannot size a file");
  return file;
}

}  // namespace

// Each message: one byte (bit 7: greets properly first; bits 4-5: descriptors; bits 0-3: bytes cut off), then up to 72
// bytes.
void link(const uint8_t* data, size_t size) {
  const Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = abstractAddress(shmSocketName(device().id()), address);
  require(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, "cannot connect to the device");
  static const Fd file = smallFile();
  if (size > 0 && data[0] & 0x80) {
    LinkMessage hello = linkMessage(kHello);
    hello.hello.version = kControlVersion;
    sendLinkMessage(socket.get(), hello);
  }
  for (size_t at = 0; at < size;) {
    const uint8_t head = data[at++];
    uint8_t bytes[sizeof(LinkMessage)] = {};
    const size_t length = std::min(sizeof bytes, size - at);
    std::memcpy(bytes, data + at, length);
    at += length;
    // Types from 1 to 16, or messages would mostly be unknown.
    bytes[0] &= 15;
    std::memset(bytes + 1, 0, 3);
    LinkMessage message;
    std::memcpy(&message, bytes, sizeof message);
    if ((head & 15) > 0) {
      ::send(socket.get(), bytes, sizeof bytes - (head & 15), MSG_NOSIGNAL);
      continue;
    }
    const int fds[3] = {file.get(), file.get(), file.get()};
    sendLinkMessage(socket.get(), message, fds, head >> 4 & 3);
  }
  finish(socket);
}

}  // namespace rdmc::fuzz
