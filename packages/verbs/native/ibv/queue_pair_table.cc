#include "ibv/queue_pair_table.h"

#if RDMC_WITH_IBVERBS

#include <mutex>
#include <string>

#include "core/failure.h"

namespace rdmc {
namespace {

constexpr uint32_t kGenerations = 1u << (31 - kQpIndexBits);

uint32_t indexOf(uint32_t number) { return number & (kMaxQps - 1); }

[[noreturn]] void closed() { throw Failure("ERR_RDMC_QUEUE_PAIR_CLOSED", "The queue pair is closed"); }

}  // namespace

IbvQueuePairTable::IbvQueuePairTable(uint32_t maxQueuePairs)
    : maxQueuePairs_(maxQueuePairs), qps_(kMaxQps), taken_(kMaxQps), generations_(kMaxQps) {}

uint32_t IbvQueuePairTable::takeNumber() {
  std::lock_guard guard(lock_);
  for (uint32_t i = 1; i <= maxQueuePairs_; ++i) {
    if (taken_[i]) continue;
    taken_[i] = true;
    generations_[i] = (generations_[i] + 1) % kGenerations;
    return i | generations_[i] << kQpIndexBits;
  }
  throw Failure("ERR_RDMC_DEVICE_LIMIT", "The device has " + std::to_string(maxQueuePairs_) + " queue pairs already");
}

void IbvQueuePairTable::giveNumberBack(uint32_t number) {
  std::lock_guard guard(lock_);
  taken_[indexOf(number)] = false;
}

void IbvQueuePairTable::add(const std::shared_ptr<IbvQueuePair>& qp) {
  std::lock_guard guard(lock_);
  qps_[indexOf(qp->number)] = qp;
  byHardwareNumber_[qp->qp->qp_num] = qp->number;
}

void IbvQueuePairTable::remove(const IbvQueuePair& qp) {
  std::lock_guard guard(lock_);
  auto& mine = qps_[indexOf(qp.number)];
  if (mine.get() != &qp) closed();
  mine.reset();
}

std::shared_ptr<IbvQueuePair> IbvQueuePairTable::find(uint32_t number) {
  std::lock_guard guard(lock_);
  const auto& found = qps_[indexOf(number)];
  return found && found->number == number ? found : nullptr;
}

std::shared_ptr<IbvQueuePair> IbvQueuePairTable::at(uint32_t number) {
  auto found = find(number);
  if (!found) closed();
  return found;
}

std::vector<std::shared_ptr<IbvQueuePair>> IbvQueuePairTable::all() {
  std::vector<std::shared_ptr<IbvQueuePair>> all;
  std::lock_guard guard(lock_);
  for (const auto& each : qps_) {
    if (each) all.push_back(each);
  }
  return all;
}

uint32_t IbvQueuePairTable::numberOf(uint32_t hardwareNumber) {
  std::lock_guard guard(lock_);
  const auto found = byHardwareNumber_.find(hardwareNumber);
  return found == byHardwareNumber_.end() ? 0 : found->second;
}

void IbvQueuePairTable::forget(uint32_t hardwareNumber) {
  std::lock_guard guard(lock_);
  byHardwareNumber_.erase(hardwareNumber);
}

}  // namespace rdmc

#endif
