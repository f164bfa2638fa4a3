// The locks of an RDMA device in the order in which a thread takes them. Those that are not here are held for a moment,
// and nothing of the device is called meanwhile.
#pragma once

namespace rdmc {

enum class IbvLock {
  kGate,           // IbvContext: the hardware goes away
  kRegistrations,  // IbvRegistrations: the device may take long to give memory back, and breaks queue pairs meanwhile
  kControl,        // IbvQueuePair: it is connected, or its hardware destroyed
  kBreaking,       // IbvQueuePair: it is put into the error state, or its hardware destroyed
  kPosting,        // IbvQueuePair: requests are posted
  kCompletions,    // IbvCompletionQueue: it is polled, or completions are put into it
  kShared,         // IbvSharedReceiveQueue: requests are posted, or complete
  kDomains,        // IbvDomains
  kTables,         // IbvQueuePairTable, IbvCompletionQueues, IbvSharedReceiveQueues
};

}  // namespace rdmc
