#include "soft/strangers.h"

namespace rdmc {

uint64_t Strangers::add(uint64_t id, const Address& from) {
  size_t sameAddress = 0;
  for (const Entry& entry : entries_) sameAddress += entry.from == from;
  uint64_t leaves = 0;
  if (sameAddress >= kMaxStrangersOfOneAddress) {
    leaves = oldest(&from);
  } else if (entries_.size() >= kMaxStrangers) {
    leaves = oldest(nullptr);
  }
  remove(leaves);
  byId_[id] = entries_.insert(entries_.end(), Entry{id, from, true});
  return leaves;
}

void Strangers::spoke(uint64_t id) {
  const auto found = byId_.find(id);
  if (found != byId_.end()) found->second->silent = false;
}

bool Strangers::remove(uint64_t id) {
  const auto found = byId_.find(id);
  if (found == byId_.end()) return false;
  entries_.erase(found->second);
  byId_.erase(found);
  return true;
}

uint64_t Strangers::oldest(const Address* from) const {
  uint64_t any = 0;
  for (const Entry& entry : entries_) {
    if (from && entry.from != *from) continue;
    if (entry.silent) return entry.id;
    if (any == 0) any = entry.id;
  }
  return any;
}

}  // namespace rdmc
