// An error on its way to JavaScript: a stable code, words for a person, and the kernel's errno.
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

// What the system calls an errno. Unlike std::strerror, for any thread.
std::string errorText(int err);

// A refused system call: `what` says what it was for.
Failure systemFailure(const char* syscall, const std::string& what, int err);

// The exception that is being handled, as a Failure: for the edges behind which nobody catches. In a handler only.
Failure caughtFailure();

}  // namespace rdmc
