// An error for JavaScript: a stable code, a message, and the kernel's errno.
#pragma once
#include <stdexcept>
#include <string>

namespace rdmc {

struct Failure : std::runtime_error {
  Failure(std::string code, const std::string& message, int err = 0, std::string syscall = {})
      : std::runtime_error(message), code(std::move(code)), err(err), syscall(std::move(syscall)) {}
  std::string code;
  int err;
  std::string syscall;
};

// The system's text for an errno. Unlike std::strerror, it can be called from any thread.
std::string errorText(int err);

// A failed system call: `what` is the operation that needed it.
Failure systemFailure(const char* syscall, const std::string& what, int err);

// The exception that is being handled, as a Failure: for places where an exception must not propagate further. In a
// handler only.
Failure caughtFailure();

}  // namespace rdmc
