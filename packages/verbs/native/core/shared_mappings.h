// For the thread sanitizer: it identifies memory by address, so that two devices in one process must use one mapping of
// a memfd, or it does not see races between them. Compiled in by RDMC_SHARE_MAPPINGS, in tests only.
#pragma once
#if RDMC_SHARE_MAPPINGS
#include <sys/stat.h>

#include <map>
#include <mutex>
#endif
#include <cstddef>

namespace rdmc {

#if RDMC_SHARE_MAPPINGS

class SharedMappings {
 public:
  static SharedMappings& instance() {
    static auto* all = new SharedMappings;  // never destroyed: devices may be destroyed later
    return *all;
  }
  // The mapping of this file, counted once more; nullptr when there is none.
  void* take(int fd) {
    std::lock_guard guard(mutex_);
    const auto found = byFile_.find(inodeOf(fd));
    if (found == byFile_.end()) return nullptr;
    ++users_[found->second];
    return found->second;
  }
  void add(int fd, void* base) {
    std::lock_guard guard(mutex_);
    byFile_[inodeOf(fd)] = base;
    users_[base] = 1;
  }
  // Whether that was the last user: the mapping must be unmapped now.
  bool drop(void* base) {
    std::lock_guard guard(mutex_);
    const auto found = users_.find(base);
    if (found == users_.end()) return true;
    if (--found->second > 0) return false;
    users_.erase(found);
    std::erase_if(byFile_, [&](const auto& each) { return each.second == base; });
    return true;
  }

 private:
  static ino_t inodeOf(int fd) {
    struct stat info {};
    ::fstat(fd, &info);
    return info.st_ino;
  }
  std::mutex mutex_;
  std::map<ino_t, void*> byFile_;
  std::map<void*, unsigned> users_;
};

inline void* sharedMapping(int fd) { return SharedMappings::instance().take(fd); }
inline void shareMapping(int fd, void* base) { SharedMappings::instance().add(fd, base); }
inline bool lastUserOfMapping(void* base) { return SharedMappings::instance().drop(base); }

#else

constexpr void* sharedMapping(int) { return nullptr; }
constexpr void shareMapping(int, void*) {}
constexpr bool lastUserOfMapping(void*) { return true; }

#endif

}  // namespace rdmc
