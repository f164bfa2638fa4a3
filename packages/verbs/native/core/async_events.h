// Asynchronous events of a device (IBA 11.6.3), for several listeners: each has a queue of its own, and an eventfd that
// is readable when the queue is not empty.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/raii.h"

namespace rdmc {

struct AsyncEvent {
  std::string type;  // DeviceEvent['type'] of src/device-events.ts
  std::string message;
  uint32_t port = 0;       // 0: does not concern one port
  uint32_t queuePair = 0;  // 0: does not concern one queue pair
};

class AsyncEvents {
 public:
  int subscribe();
  void unsubscribe(int id);
  int fd(int id);
  // The events since the last call, oldest first. A listener that does not call this keeps the latest events only.
  std::vector<AsyncEvent> take(int id);
  void publish(const AsyncEvent& event);

 private:
  struct Listener {
    Fd fd;
    std::deque<AsyncEvent> waiting;
  };
  std::mutex mutex_;
  int nextId_ = 1;
  std::map<int, Listener> listeners_;
};

}  // namespace rdmc
