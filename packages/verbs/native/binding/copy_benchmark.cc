#include "binding/copy_benchmark.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "core/arena_pool.h"

namespace rdmc {

double measureCopy(uint64_t totalBytes, uint64_t blockBytes, uint32_t threads) {
  const auto pool = std::make_shared<ArenaPool>();
  std::vector<std::shared_ptr<Extent>> from, to;
  for (uint32_t i = 0; i < threads; ++i) {
    from.push_back(pool->allocate(totalBytes));
    to.push_back(pool->allocate(totalBytes));
    ArenaPool::populate(*from.back());
    ArenaPool::populate(*to.back());
  }
  std::atomic<uint32_t> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      ++ready;
      while (!go) cpuRelax();
      for (uint64_t at = 0; at < totalBytes; at += blockBytes) {
        std::memcpy(to[i]->data() + at, from[i]->data() + at, std::min(blockBytes, totalBytes - at));
      }
    });
  }
  while (ready < threads) cpuRelax();
  const auto start = std::chrono::steady_clock::now();
  go = true;
  for (auto& worker : workers) worker.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace rdmc
