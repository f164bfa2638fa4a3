// Strangers: connections to a listener whose other end has not proved that it knows the key. Their number is limited,
// and so is the number from one address. When a new one needs room, the oldest of those that have sent nothing is
// closed; where all have sent something, the oldest. So silent connections, however many, do not keep others out.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace rdmc {

// Every queue pair dials a connection of its own: 8 members of 16 queue pairs behind one address are 128 at once. All
// strangers that are allowed take 1024 descriptors, which is within Node's limit (it raises the soft limit to the hard
// one).
constexpr size_t kMaxStrangers = 1024;
constexpr size_t kMaxStrangersOfOneAddress = 256;
// Fewer than the quota, so that each new connection is read several times before others can replace it.
constexpr int kAcceptsAtOnce = 16;
constexpr int64_t kFirstBytesMs = 1000;  // for the first bytes of a greeting
constexpr int64_t kGreetingMs = 5000;    // for a greeting to end

class Strangers {
 public:
  // Where a connection comes from: an IP address, or the process at the other end of a Unix socket.
  using Address = std::array<uint8_t, 16>;

  // Adds one; `id` is not 0. Returns the one that must be closed for it, 0 where there is room.
  uint64_t add(uint64_t id, const Address& from);
  // It has sent something.
  void spoke(uint64_t id);
  // It has proved the key, or is closed. Returns whether it was a stranger.
  bool remove(uint64_t id);
  size_t size() const { return entries_.size(); }
  template <typename Visit>
  void each(Visit visit) const {
    for (const Entry& entry : entries_) visit(entry.id);
  }

 private:
  struct Entry {
    uint64_t id;
    Address from;
    bool silent;
  };
  uint64_t oldest(const Address* from) const;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> byId_;
};

}  // namespace rdmc
