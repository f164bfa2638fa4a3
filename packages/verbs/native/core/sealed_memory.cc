#include "core/sealed_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "core/failure.h"

namespace rdmc {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Pages of huge-page files come from a pool: where that is empty, a touch is SIGBUS.
bool hasHugePagesOnly(const Fd& fd) {
  struct statfs info {};
  return ::fstatfs(fd.get(), &info) != 0 || info.f_type == HUGETLBFS_MAGIC;
}

}  // namespace

Fd createSealedMemory(const char* name, size_t length) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) throw systemFailure("memfd_create", "Creating shared memory", errno);
  if (::ftruncate(fd.get(), off_t(length)) != 0) {
    throw systemFailure("ftruncate", "Sizing shared memory of " + std::to_string(length) + " bytes", errno);
  }
  // F_SEAL_SEAL: a peer must not add F_SEAL_WRITE.
  if (::fcntl(fd.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) {
    throw systemFailure("fcntl", "Sealing shared memory", errno);
  }
  return fd;
}

void requireSealed(const Fd& fd, const std::string& what) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals >= 0 && (seals & kSizeSeals) == kSizeSeals && !hasHugePagesOnly(fd)) return;
  throw Failure("ERR_RDMC_CONNECT_FAILED",
                what + " is not sealed: the peer could shrink it and end this process; is it a soft device?");
}

uint64_t memoryBytes(const Fd& fd) {
  struct stat info {};
  return ::fstat(fd.get(), &info) == 0 && info.st_size > 0 ? uint64_t(info.st_size) : 0;
}

}  // namespace rdmc
