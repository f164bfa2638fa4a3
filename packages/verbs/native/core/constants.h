// Numbers shared with TypeScript (src/constants.ts, where the slot layouts are drawn).
// A test compares this file's values, exported as `constants`, with TypeScript's.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rdmc {

constexpr uint32_t kWorkRequestBytes = 256;
constexpr uint32_t kBatchSlots = 256;
constexpr uint32_t kCompletionBytes = 32;
constexpr uint32_t kPollSlots = 256;
constexpr uint32_t kMaxSge = 4;
constexpr uint32_t kMaxInlineBytes = 192;
constexpr uint32_t kMaxWaits = 4;
constexpr uint32_t kMaxInlineBytesOfWaiting = 128;  // its conditions lie behind them

enum Opcode : uint32_t {
  kSend = 0,
  kSendWithImm = 1,
  kWrite = 2,
  kWriteWithImm = 3,
  kRead = 4,
  kCompareAndSwap = 5,
  kFetchAndAdd = 6,
  kReceive = 7,
};

enum CompletionOpcode : uint32_t {
  kCompletedSend = 0,
  kCompletedWrite = 1,
  kCompletedRead = 2,
  kCompletedCompareAndSwap = 3,
  kCompletedFetchAndAdd = 4,
  kCompletedReceive = 128,
  kCompletedReceiveWriteWithImm = 129,
};

enum WorkRequestFlag : uint32_t { kSignaled = 1, kInline = 2, kFence = 4, kSolicited = 8, kWaitFor = 16 };
enum CompletionFlag : uint32_t { kWithImmediate = 1 };

// As in enum ibv_wc_status.
enum Status : uint32_t {
  kSuccess = 0,
  kLocalLengthError = 1,
  kLocalQpOperationError = 2,
  kLocalProtectionError = 4,
  kFlushed = 5,
  kBadResponse = 7,
  kLocalAccessError = 8,
  kRemoteInvalidRequest = 9,
  kRemoteAccessError = 10,
  kRemoteOperationError = 11,
  kRetryExceeded = 12,
  kRnrRetryExceeded = 13,
  kFatal = 19,
  kResponseTimeout = 20,
  kGeneralError = 21,
};

// As in enum ibv_access_flags.
enum Access : uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kRelaxedOrdering = 1 << 20
};
constexpr uint32_t kRemoteAccess = kRemoteWrite | kRemoteRead | kRemoteAtomic;

// As in enum ibv_qp_state.
enum QpState : uint32_t { kReset = 0, kInit = 1, kRtr = 2, kRts = 3, kError = 6 };

enum PostResult : uint32_t {
  kAccepted = 0,
  kUnknownQueuePair = 1,
  kWrongState = 2,
  kQueueFull = 3,
  kTooManySges = 4,
  kInvalidLkey = 5,
  kOutOfBounds = 6,
  kInlineTooLong = 7,
  kUnknownOpcode = 8,
  kMisalignedAtomic = 9,
  kNotShareable = 10,
  kAccessDenied = 11,
  kMessageTooLong = 12,
  kDeviceRefused = 13,
  kDeviceRemoved = 14,
  kUnsupportedOperation = 15,
  kTooManyWaits = 16,
  kUnknownWait = 17,
  kBrokenWait = 18,
  kWaitCircle = 19,
};

constexpr uint64_t kMaxMessageBytes = (1ull << 31) - 1;

struct Sge {
  uint32_t addressLow, addressHigh, length, lkey;
  uint64_t address() const { return addressLow | (uint64_t(addressHigh) << 32); }
};

// A condition of a request with kWaitFor: so many receives of a queue pair have succeeded since it was created.
struct WaitEntry {
  uint32_t queuePair, reserved, receivesLow, receivesHigh;
  uint64_t receives() const { return receivesLow | (uint64_t(receivesHigh) << 32); }
};
struct WaitArea {
  uint8_t inlineBytes[kMaxInlineBytesOfWaiting];
  WaitEntry entries[kMaxWaits];
};

struct WorkRequestSlot {
  uint32_t opcode, queuePair, flags, sgeCount;
  uint32_t idLow, idHigh, immediate, rkey;
  uint32_t remoteLow, remoteHigh, compareLow, compareHigh;
  uint32_t swapLow, swapHigh, result, waitCount;
  union {
    Sge sge[12];
    uint8_t inlineBytes[kMaxInlineBytes];
    WaitArea waits;
  };
};
static_assert(sizeof(WorkRequestSlot) == kWorkRequestBytes && sizeof(WaitArea) == kMaxInlineBytes);
static_assert(sizeof(Sge) * kMaxSge <= offsetof(WaitArea, entries));

// Whether a send of the queue pair was refused among the first `count` requests of a batch: later ones must not
// overtake it.
inline bool refusesSends(const WorkRequestSlot* slots, uint32_t count, uint32_t queuePair) {
  for (uint32_t i = 0; i < count; ++i) {
    const WorkRequestSlot& slot = slots[i];
    if (slot.queuePair == queuePair && slot.opcode != kReceive && slot.result != kAccepted) return true;
  }
  return false;
}

struct CompletionSlot {
  uint32_t idLow, idHigh, status, opcode, bytes, immediate, queuePair, flags;
};
static_assert(sizeof(CompletionSlot) == kCompletionBytes);

}  // namespace rdmc
