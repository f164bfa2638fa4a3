// The descriptors that JavaScript has made: eventfds and timerfds. All threads may use their numbers, but each belongs
// to the environment that made it, which closes it at its end at the latest: a worker may end at any time.
#pragma once
#include <napi.h>

#include <mutex>
#include <unordered_map>

#include "core/raii.h"

namespace rdmc {

class Descriptors {
 public:
  // Those of the process.
  static Descriptors& all();
  // Returns its number.
  int add(Fd fd, napi_env owner);
  // Does nothing with a number that is not here: it was closed, and may be another file's by now.
  void close(int number);
  void closeOf(napi_env owner) noexcept;

 private:
  struct Owned {
    Fd fd;
    napi_env owner;
  };
  std::mutex mutex_;
  std::unordered_map<int, Owned> owned_;
};

}  // namespace rdmc
