// The locks of the soft device's queue pairs in the order in which a thread takes them.
#pragma once

namespace rdmc {

enum class SoftLock {
  kSend,         // QueuePair: its send queue, and the progress of its wire
  kWaits,        // Waits: which requests wait for what
  kReceive,      // QueuePair: what is posted to receive
  kCompletions,  // SoftCompletionQueue
};

}  // namespace rdmc
