#include "core/failure.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace rdmc {

std::string errorText(int err) {
  char buffer[128];
  return ::strerror_r(err, buffer, sizeof buffer);  // the GNU version, which returns where the text is
}

Failure systemFailure(const char* syscall, const std::string& what, int err) {
  std::string message = what + ": " + syscall + " failed: " + errorText(err);
  if (err == EMFILE || err == ENFILE) message += "; raise the limit of open files (ulimit -n)";
  if (err == ENOMEM || err == ENOSPC) message += "; free memory, or raise the memory limit";
  const bool memory = err == ENOMEM || err == ENOSPC;
  return Failure(memory ? "ERR_RDMC_OUT_OF_MEMORY" : "ERR_RDMC_SYSTEM", message, err, syscall);
}

Failure caughtFailure() {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    return Failure("ERR_RDMC_OUT_OF_MEMORY", "Out of memory");
  } catch (const std::system_error& error) {
    return Failure("ERR_RDMC_SYSTEM", error.what(), error.code().value());
  } catch (const std::exception& error) {
    return Failure("ERR_RDMC_SYSTEM", error.what());
  }
}

}  // namespace rdmc
