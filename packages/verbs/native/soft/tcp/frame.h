// The frames between two NIC threads. Little endian, fixed sizes.
//
// Every queue pair dials its peer: forward on that connection go its requests, backward their answers.
// A connection begins with a greeting (D: the side that dials, L: the side that listens):
//
//   D -> L   TcpHello    96 bytes
//     0 magic  4 version  8 flags (1: has a key)  12 queue pair of D  16 queue pair of L
//    20 rnrRetries  24 rnrTimerMs  28 retryTimeoutMs  32 device of D [16]  48 device of L [16]  64 nonce [32]
//   L -> D   TcpReply    48 bytes: a challenge, where both have a key
//     0 magic  4 version  8 kind  12 status  16 nonce [32]
//   D -> L   proof       32 bytes: HMAC-SHA256(key, "rdmc-tcp-1 initiator" hello nonce-of-L)
//   L -> D   TcpReply    48 bytes: welcome or refusal
//    16 HMAC-SHA256(key, "rdmc-tcp-1 listener" hello nonce-of-L); zeros without a key
//
// The first 8 bytes of both structures, and bytes 8 to 16 of the reply, are the same in every version.
// After the welcome L says kTcpAdmitted once its own queue pair is connected to D's; D sends nothing before.
//
//   D -> L   TcpRequest  48 bytes, then `length` bytes of payload (none for READ and atomics)
//     0 u8 opcode  1 u8 flags  2 u16 zero  4 sequence  8 length  12 rkey
//    16 u64 remote address  24 immediate  28 zero  32 u64 compare or add  40 u64 swap
//   L -> D   TcpResponse 24 bytes, then `length` bytes of payload (kTcpReadData only)
//     0 u8 type  1 u8 status  2 u16 zero  4 sequence  8 length  12 offset in the READ  16 u64 value
//
// Sequences count requests from 0 and wrap. kTcpAck is cumulative and completes READs too: their data alone
// does not, because the last piece may be followed by a kTcpNak. Every answer that names a request
// acknowledges those before it. After kTcpNak the connection ends.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "soft/control_segment.h"

namespace rdmc {

static_assert(std::endian::native == std::endian::little, "the soft device needs a little-endian machine");

constexpr uint32_t kTcpMagic = 0x54434452;  // "RDCT"
constexpr uint32_t kTcpVersion = 1;
constexpr size_t kTcpNonceBytes = 32;
constexpr size_t kTcpMacBytes = 32;

constexpr uint32_t kTcpHasKey = 1;

struct TcpHello {
  uint32_t magic, version, flags, initiator, target;
  uint32_t rnrRetries, rnrTimerMs, retryTimeoutMs;
  DeviceId initiatorDevice, targetDevice;
  uint8_t nonce[kTcpNonceBytes];
};
static_assert(sizeof(TcpHello) == 96 && offsetof(TcpHello, initiatorDevice) == 32 && offsetof(TcpHello, nonce) == 64);

enum TcpReplyKind : uint32_t { kTcpChallenge = 1, kTcpWelcome = 2, kTcpRefusal = 3 };

enum TcpRefusalReason : uint32_t {
  kTcpNoRefusal = 0,
  kTcpOtherVersion = 1,
  kTcpWrongKey = 2,
  kTcpOtherDevice = 3,
  kTcpNoQueuePair = 4,
  kTcpQueuePairBroken = 5,
  kTcpQueuePairTaken = 6,
};

struct TcpReply {
  uint32_t magic, version, kind, status;
  uint8_t bytes[32];
};
static_assert(sizeof(TcpReply) == 48);

constexpr uint8_t kTcpSolicited = 1;

struct TcpRequest {
  uint8_t opcode, flags;
  uint16_t zero;
  uint32_t sequence, length, rkey;
  uint64_t remote;
  uint32_t immediate, zero2;
  uint64_t compare, swap;
};
static_assert(sizeof(TcpRequest) == 48 && offsetof(TcpRequest, remote) == 16 && offsetof(TcpRequest, compare) == 32);

enum TcpResponseType : uint8_t {
  kTcpAdmitted = 1,  // requests may come
  kTcpAck = 2,       // everything up to `sequence` is done
  kTcpNak = 3,       // request `sequence` failed with `status`
  kTcpReadData = 4,  // a piece of what READ `sequence` asked for
  kTcpValue = 5,     // what the word held before atomic `sequence`
  kTcpNotReady = 6,  // no receive is posted; repeated every kTcpNotReadyMs while that lasts
};

struct TcpResponse {
  uint8_t type, status;
  uint16_t zero;
  uint32_t sequence, length, offset;
  uint64_t value;
};
static_assert(sizeof(TcpResponse) == 24);

constexpr int64_t kMs = 1'000'000;        // in nanoseconds
constexpr int64_t kTcpGreetingMs = 5000;  // for a peer that was dialled to greet
constexpr uint32_t kTcpMaxParked = 4;     // connections waiting for one queue pair to connect
constexpr int64_t kTcpNotReadyMs = 1000;
constexpr int64_t kTcpLingerMs = 2000;       // to read what one connection still holds when the other has ended
constexpr int64_t kTcpGraceMs = 200;         // for last answers to be read after the peer's requests ended
constexpr uint32_t kTcpMaxUnanswered = 16;   // READs and atomics under way on a queue pair
constexpr size_t kTcpTurnBytes = 256 << 10;  // moved each way for one connection in its turn
constexpr size_t kTcpNotSentBytes = 128 << 10;
// Less is sent by the thread that posts: a small message of a group of the default length, and its frame.
constexpr size_t kTcpDirectBytes = 16 << 10;

}  // namespace rdmc
