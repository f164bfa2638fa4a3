#include "binding/descriptors.h"

#include <utility>

namespace rdmc {

// Never destroyed: other threads may still use it while the process exits.
Descriptors& Descriptors::all() {
  static auto* instance = new Descriptors;
  return *instance;
}

int Descriptors::add(Fd fd, napi_env owner) {
  const int number = fd.get();
  std::lock_guard guard(mutex_);
  // One that is here was closed by somebody else: its number is that of the new one now.
  if (const auto stale = owned_.find(number); stale != owned_.end()) stale->second.fd.release();
  owned_.insert_or_assign(number, Owned{std::move(fd), owner});
  return number;
}

void Descriptors::close(int number) {
  std::lock_guard guard(mutex_);
  owned_.erase(number);
}

void Descriptors::closeOf(napi_env owner) noexcept {
  std::lock_guard guard(mutex_);
  std::erase_if(owned_, [&](const auto& each) { return each.second.owner == owner; });
}

}  // namespace rdmc
