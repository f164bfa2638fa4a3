#include "soft/waits.h"

#include <algorithm>
#include <vector>

#include "soft/device.h"

namespace rdmc {

uint32_t Waits::read(const WorkRequestSlot& slot, Wait& out) {
  if (slot.waitCount == 0 || slot.waitCount > kMaxWaits) return kTooManyWaits;
  for (; out.count < slot.waitCount; ++out.count) {
    const WaitEntry& entry = slot.waits.entries[out.count];
    Wait::Condition& to = out.conditions[out.count];
    to = {device_.qp(entry.queuePair), entry.receives()};
    if (!to.source) return kUnknownWait;
    if (to.source->awaited(to.receives) == QueuePair::Awaited::kNever) return kBrokenWait;
  }
  return kAccepted;
}

uint32_t Waits::admit(QueuePair& owner, const WorkRequestSlot& slot) {
  Wait wait;
  if (const uint32_t result = read(slot, wait); result != kAccepted) return result;
  wait.deliveriesBefore = owner.deliveries();
  // Looking for circles and adding are one step: two threads could close a circle together.
  std::lock_guard guard(lock_);
  if (circle(owner, wait)) return kWaitCircle;
  waiting_[owner.number()].push_back(std::move(wait));
  return kAccepted;
}

// Whether the request would wait for something that can only happen after it: for a receive that is the target of a
// later request of its own queue pair, or of one that waits, over any number of steps, for such a receive. Only
// connections within this device are seen; a circle over several devices is not.
bool Waits::circle(const QueuePair& owner, const Wait& wait) const {
  std::vector<const Wait*> open{&wait};
  std::unordered_map<uint32_t, uint64_t> seen;  // by queue pair that delivers: the greatest count that was followed
  while (!open.empty()) {
    const Wait& each = *open.back();
    open.pop_back();
    for (uint32_t i = 0; i < each.count; ++i) {
      const auto& [source, receives] = each.conditions[i];
      const uint32_t feeder = source->awaited(receives) == QueuePair::Awaited::kNotYet ? source->feeder() : 0;
      if (feeder == 0) continue;  // satisfied, or another device's peer delivers
      if (feeder == owner.number() && receives > owner.deliveries()) return true;
      uint64_t& followed = seen[feeder];
      const auto held = waiting_.find(feeder);
      if (held != waiting_.end()) {
        for (const Wait& before : held->second) {
          if (before.deliveriesBefore >= followed && before.deliveriesBefore < receives) open.push_back(&before);
        }
      }
      followed = std::max(followed, receives);
    }
  }
  return false;
}

void Waits::withdraw(QueuePair& owner) {
  std::lock_guard guard(lock_);
  const auto found = waiting_.find(owner.number());
  found->second.pop_back();
  if (found->second.empty()) waiting_.erase(found);
}

Waits::State Waits::stateOf(QueuePair& owner) {
  std::lock_guard guard(lock_);
  const Wait& wait = waiting_.at(owner.number()).front();
  State state = State::kOver;
  for (uint32_t i = 0; i < wait.count; ++i) {
    const auto& [source, receives] = wait.conditions[i];
    QueuePair::Awaited now = source->awaited(receives);
    if (now == QueuePair::Awaited::kNotYet) {
      // Known to `look` before the peer can see it: the peer wakes the service thread once.
      awaited_.try_emplace(source->number(), source);
      now = source->await(receives, owner);
    }
    if (now == QueuePair::Awaited::kNever) return State::kHopeless;
    if (now == QueuePair::Awaited::kNotYet) state = State::kWaiting;
  }
  return state;
}

void Waits::release(QueuePair& owner) {
  std::lock_guard guard(lock_);
  const auto found = waiting_.find(owner.number());
  found->second.pop_front();
  if (found->second.empty()) waiting_.erase(found);
}

void Waits::forget(QueuePair& owner) {
  std::lock_guard guard(lock_);
  waiting_.erase(owner.number());
}

void Waits::closed(uint32_t number) {
  std::lock_guard guard(lock_);
  awaited_.erase(number);
}

void Waits::look() {
  std::vector<std::shared_ptr<QueuePair>> sources;
  {
    std::lock_guard guard(lock_);
    if (awaited_.empty()) return;
    for (const auto& [number, each] : awaited_) {
      if (auto source = each.lock()) sources.push_back(std::move(source));
    }
  }
  for (const auto& source : sources) source->resumeWaiters();
  // Under the lock under which they are added.
  std::lock_guard guard(lock_);
  std::erase_if(awaited_, [](const auto& each) {
    const auto source = each.second.lock();
    return !source || !source->hasWaiters();
  });
}

}  // namespace rdmc
