#include "ibv/domains.h"

#if RDMC_WITH_IBVERBS

#include <cerrno>
#include <shared_mutex>
#include <string>
#include <utility>

namespace rdmc {

IbvDomains::Domain& IbvDomains::here(uint32_t number) {
  if (number >= domains_.size() || !domains_[number].pd || domains_[number].sealed) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_CLOSED", "The protection domain is closed");
  }
  return domains_[number];
}

uint32_t IbvDomains::create() {
  std::shared_lock gate(context_.gate);
  context_.checkOpen();
  ibv_pd* made = context_.library().alloc_pd(context_.hardware());
  if (!made) throw context_.refusal("ibv_alloc_pd", "Allocating a protection domain", errno);
  std::lock_guard guard(lock_);
  domains_.push_back({.pd = made});  // a number is used once, so that a stale one is seen
  return uint32_t(domains_.size() - 1);
}

void IbvDomains::destroy(uint32_t number) {
  std::shared_lock gate(context_.gate);
  std::lock_guard guard(lock_);
  if (number >= domains_.size() || !domains_[number].pd) return;
  Domain& mine = domains_[number];
  // A region is in its table before it looks for the domain, which waits for this lock.
  if (const uint32_t users = regions_.count(number) + mine.users; users > 0) {
    throw Failure("ERR_RDMC_PROTECTION_DOMAIN_BUSY",
                  std::to_string(users) + " regions or queues still use the protection domain: close them first");
  }
  if (const int error = context_.library().dealloc_pd(mine.pd); error != 0) {
    throw context_.refusal("ibv_dealloc_pd", "Giving a protection domain back", error);
  }
  mine = {};
}

ibv_pd* IbvDomains::at(uint32_t number) {
  std::lock_guard guard(lock_);
  return here(number).pd;
}

ibv_pd* IbvDomains::use(uint32_t number) {
  std::lock_guard guard(lock_);
  Domain& mine = here(number);
  ++mine.users;
  return mine.pd;
}

void IbvDomains::leave(uint32_t number) {
  std::lock_guard guard(lock_);
  --domains_[number].users;
}

void IbvDomains::seal(uint32_t number) {
  std::lock_guard guard(lock_);
  domains_[number].sealed = true;
}

void IbvDomains::release() {
  std::lock_guard guard(lock_);
  for (Domain& mine : domains_) {
    if (mine.pd) context_.library().dealloc_pd(std::exchange(mine.pd, nullptr));
  }
}

}  // namespace rdmc

#endif
