#include "binding/binding.h"
#include "binding/environment.h"
#include "core/constants.h"

namespace rdmc {
namespace {

struct Named {
  const char* name;
  uint32_t value;
};

template <size_t N>
void table(Napi::Env env, Napi::Object constants, const char* name, const Named (&entries)[N]) {
  Napi::Object out = Napi::Object::New(env);
  for (const Named& entry : entries) out.Set(entry.name, Napi::Number::New(env, entry.value));
  constants.Set(name, out);
}

// src/constants.ts must have the same values.
Napi::Object constants(Napi::Env env) {
  Napi::Object out = Napi::Object::New(env);
  table(env, out, "Layout",
        {{"WORK_REQUEST_BYTES", kWorkRequestBytes},
         {"WORK_REQUEST_WORDS", kWorkRequestBytes / 4},
         {"BATCH_SLOTS", kBatchSlots},
         {"COMPLETION_BYTES", kCompletionBytes},
         {"COMPLETION_WORDS", kCompletionBytes / 4},
         {"POLL_SLOTS", kPollSlots},
         {"MAX_SGE", kMaxSge},
         {"MAX_INLINE_BYTES", kMaxInlineBytes},
         {"MAX_WAITS", kMaxWaits},
         {"MAX_INLINE_BYTES_OF_WAITING", kMaxInlineBytesOfWaiting}});
#define WORD(type, field) uint32_t(offsetof(type, field) / 4)
  table(env, out, "Word",
        {{"OPCODE", WORD(WorkRequestSlot, opcode)},
         {"QUEUE_PAIR", WORD(WorkRequestSlot, queuePair)},
         {"FLAGS", WORD(WorkRequestSlot, flags)},
         {"SGE_COUNT", WORD(WorkRequestSlot, sgeCount)},
         {"ID_LOW", WORD(WorkRequestSlot, idLow)},
         {"ID_HIGH", WORD(WorkRequestSlot, idHigh)},
         {"IMMEDIATE", WORD(WorkRequestSlot, immediate)},
         {"RKEY", WORD(WorkRequestSlot, rkey)},
         {"REMOTE_LOW", WORD(WorkRequestSlot, remoteLow)},
         {"REMOTE_HIGH", WORD(WorkRequestSlot, remoteHigh)},
         {"COMPARE_LOW", WORD(WorkRequestSlot, compareLow)},
         {"COMPARE_HIGH", WORD(WorkRequestSlot, compareHigh)},
         {"SWAP_LOW", WORD(WorkRequestSlot, swapLow)},
         {"SWAP_HIGH", WORD(WorkRequestSlot, swapHigh)},
         {"RESULT", WORD(WorkRequestSlot, result)},
         {"WAIT_COUNT", WORD(WorkRequestSlot, waitCount)},
         {"SGE", WORD(WorkRequestSlot, sge)},
         {"WAITS", WORD(WorkRequestSlot, waits.entries)}});
  table(env, out, "CompletionWord",
        {{"ID_LOW", WORD(CompletionSlot, idLow)},
         {"ID_HIGH", WORD(CompletionSlot, idHigh)},
         {"STATUS", WORD(CompletionSlot, status)},
         {"OPCODE", WORD(CompletionSlot, opcode)},
         {"BYTES", WORD(CompletionSlot, bytes)},
         {"IMMEDIATE", WORD(CompletionSlot, immediate)},
         {"QUEUE_PAIR", WORD(CompletionSlot, queuePair)},
         {"FLAGS", WORD(CompletionSlot, flags)}});
#undef WORD
  table(env, out, "Opcode",
        {{"SEND", kSend},
         {"SEND_WITH_IMM", kSendWithImm},
         {"WRITE", kWrite},
         {"WRITE_WITH_IMM", kWriteWithImm},
         {"READ", kRead},
         {"COMPARE_AND_SWAP", kCompareAndSwap},
         {"FETCH_AND_ADD", kFetchAndAdd},
         {"RECEIVE", kReceive}});
  table(env, out, "CompletionOpcode",
        {{"SEND", kCompletedSend},
         {"WRITE", kCompletedWrite},
         {"READ", kCompletedRead},
         {"COMPARE_AND_SWAP", kCompletedCompareAndSwap},
         {"FETCH_AND_ADD", kCompletedFetchAndAdd},
         {"RECEIVE", kCompletedReceive},
         {"RECEIVE_WRITE_WITH_IMM", kCompletedReceiveWriteWithImm}});
  table(env, out, "WorkRequestFlag",
        {{"SIGNALED", kSignaled},
         {"INLINE", kInline},
         {"FENCE", kFence},
         {"SOLICITED", kSolicited},
         {"WAIT_FOR", kWaitFor}});
  table(env, out, "CompletionFlag", {{"WITH_IMMEDIATE", kWithImmediate}});
  table(env, out, "Status",
        {{"SUCCESS", kSuccess},
         {"LOCAL_LENGTH_ERROR", kLocalLengthError},
         {"LOCAL_QP_OPERATION_ERROR", kLocalQpOperationError},
         {"LOCAL_PROTECTION_ERROR", kLocalProtectionError},
         {"WORK_REQUEST_FLUSHED", kFlushed},
         {"BAD_RESPONSE", kBadResponse},
         {"LOCAL_ACCESS_ERROR", kLocalAccessError},
         {"REMOTE_INVALID_REQUEST", kRemoteInvalidRequest},
         {"REMOTE_ACCESS_ERROR", kRemoteAccessError},
         {"REMOTE_OPERATION_ERROR", kRemoteOperationError},
         {"RETRY_EXCEEDED", kRetryExceeded},
         {"RNR_RETRY_EXCEEDED", kRnrRetryExceeded},
         {"FATAL", kFatal},
         {"RESPONSE_TIMEOUT", kResponseTimeout},
         {"GENERAL_ERROR", kGeneralError}});
  table(env, out, "Access",
        {{"LOCAL_WRITE", kLocalWrite},
         {"REMOTE_WRITE", kRemoteWrite},
         {"REMOTE_READ", kRemoteRead},
         {"REMOTE_ATOMIC", kRemoteAtomic},
         {"RELAXED_ORDERING", kRelaxedOrdering}});
  table(env, out, "QueuePairState",
        {{"RESET", kReset}, {"INIT", kInit}, {"RTR", kRtr}, {"RTS", kRts}, {"ERROR", kError}});
  table(env, out, "PostResult",
        {{"ACCEPTED", kAccepted},
         {"UNKNOWN_QUEUE_PAIR", kUnknownQueuePair},
         {"WRONG_STATE", kWrongState},
         {"QUEUE_FULL", kQueueFull},
         {"TOO_MANY_SGES", kTooManySges},
         {"INVALID_LKEY", kInvalidLkey},
         {"OUT_OF_BOUNDS", kOutOfBounds},
         {"INLINE_TOO_LONG", kInlineTooLong},
         {"UNKNOWN_OPCODE", kUnknownOpcode},
         {"MISALIGNED_ATOMIC", kMisalignedAtomic},
         {"NOT_SHAREABLE", kNotShareable},
         {"ACCESS_DENIED", kAccessDenied},
         {"MESSAGE_TOO_LONG", kMessageTooLong},
         {"DEVICE_REFUSED", kDeviceRefused},
         {"DEVICE_REMOVED", kDeviceRemoved},
         {"UNSUPPORTED_OPERATION", kUnsupportedOperation},
         {"TOO_MANY_WAITS", kTooManyWaits},
         {"UNKNOWN_WAIT", kUnknownWait},
         {"BROKEN_WAIT", kBrokenWait},
         {"WAIT_CIRCLE", kWaitCircle}});
  return out;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  Environment::of(env);
  exports.Set("constants", constants(env));
  bindDevice(env, exports);
  bindIbverbs(env, exports);
  bindEvents(env, exports);
  bindRegion(env, exports);
  bindQueue(env, exports);
  bindFd(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(rdmc_verbs, init)

}  // namespace rdmc
