// What belongs to one environment (a thread of JavaScript), and ends with it.
#pragma once
#include <napi.h>

#include <vector>

#include "binding/registered_memory.h"

namespace rdmc {

class Environment {
 public:
  // Made by the first call, when the addon is loaded: its end comes after that of everything else of the addon, and
  // before Node frees the heap. `process.exit`, `worker.terminate()` and an uncaught error end it, too.
  static Environment& of(Napi::Env env);

  // The devices that it has opened.
  std::vector<int> devices;
  RegisteredMemory memory;
  // Makes the package's error of a code, a message, an errno and a syscall.
  Napi::FunctionReference makeError;

 private:
  explicit Environment(napi_env env) : env_(env) {}
  void end() noexcept;
  void closeDevices() noexcept;
  napi_env env_;
};

}  // namespace rdmc
