/*
 * A trace: fixed-size records of what the members of a cluster did, and when. Little endian.
 *
 * A record, 32 bytes. The same in the ring and in files:
 *
 *   0                8          12     13         14        16        20        24        28        32
 *   ├────────────────┼──────────┼──────┼──────────┼─────────┼─────────┼─────────┼─────────┼─────────┤
 *   │ time           │ member   │ kind │ protocol │ zero    │ group   │ message │ block   │ peer    │
 *   │ f64            │ u32      │ u8   │ u8       │ u16     │ u32     │ u32     │ u32     │ u32     │
 *
 *   time     nanoseconds of CLOCK_MONOTONIC, the clock of `process.hrtime`, which all processes of a host share;
 *            of a simulation: simulated nanoseconds
 *   member   id of the member that wrote the record; so is peer. Groups, channels and logs are named by their ids
 *   message, block and peer are 0xffffffff where a kind has none
 *
 * A ring, in a SharedArrayBuffer. One thread writes it, another one reads it:
 *
 *      0  magic 'RDTR'     4  layout version     8  records that fit (a power of two)
 *     64  written          records written since the start, modulo 2^32; stored after the record
 *    128  records          the record with number n is at 128 + 32 * (n mod capacity)
 *
 * The writer never waits: when the ring is full, it overwrites the oldest records. The reader copies the records and then
 * looks at `written` once more. What the writer can have overwritten meanwhile counts as dropped; also the oldest 1/32 of a
 * full ring, because other processors may see the writer's stores earlier than its count.
 *
 * A file:
 *
 *   0  8 bytes 'RDMCTRCE'      8  u32 version     12  u32 bytes of a record
 *  16  f64 milliseconds since 1970      24  f64 the same moment on the trace's clock, in nanoseconds
 *  32  16 bytes that name the clock: the boot id of the host; zeros: a simulation's clock
 *  48  name of the host, UTF-8, filled with zeros
 * 128  records, in the order in which each ring was read. The last one is END; its message is the low and its block the high
 *      word of the number of records before it. A file without it was cut short
 */

/** Bytes of a record, and words of 32 bits. */
export const RECORD_BYTES = 32;
export const RECORD_WORDS = RECORD_BYTES / 4;
/** Where a ring's records begin, and its words. */
export const RING_HEADER_BYTES = 128;
export const RingWord = { MAGIC: 0, VERSION: 1, CAPACITY: 2, WRITTEN: 16 } as const;
export const RING_MAGIC = 0x52544452;
export const TRACE_VERSION = 1;
/** The part of a ring whose oldest records count as overwritten while the writer is there. */
export const RING_MARGIN = 32;

export const FILE_HEADER_BYTES = 128;
export const FILE_MAGIC = 'RDMCTRCE';
export const FILE_CLOCK_OFFSET = 32;
export const FILE_HOST_OFFSET = 48;

/** Word of a record. */
export const RecordWord = {
  TIME: 0,
  MEMBER: 2,
  WHAT: 3,
  GROUP: 4,
  MESSAGE: 5,
  BLOCK: 6,
  PEER: 7,
} as const;

/** A message, block or peer that a record does not have. */
export const NONE = 0xffff_ffff;

/** What wrote a record; SMALL: the small messages of a group. Protocols of programs take numbers from 128 to 255. */
export const TraceProtocol = { DATA_PLANE: 0, GROUP: 1, HIPOWER: 2, TAILWIND: 3, SMALL: 4 } as const;

/** What happened. */
export const TraceKind = {
  /** The end of a file. */
  END: 1,
  /** Records were overwritten before they were read; block: how many. */
  DROPPED: 2,
  /** The thread of the data plane goes to sleep, and wakes up. */
  SLEEP: 3,
  WAKE_UP: 4,
  /** A part of a member's name: group is the part, and message, block and peer are 12 bytes of UTF-8, filled with zeros. */
  NAME: 5,
  /** A message began here; block: its number of blocks. */
  BEGAN: 10,
  /** The application gave memory for the message. */
  PLACED: 11,
  /** The first block was copied into its place. */
  COPIED: 12,
  /** The message is complete here, and this member has relayed its part. */
  FINISHED: 13,
  /** A receive was posted for a block of peer. */
  RECEIVE_POSTED: 20,
  /** This member told peer how many receives it has posted for it; block: that number. READY: it learnt peer's. */
  ANNOUNCED: 21,
  READY: 22,
  /** The send of a block to peer was given to the device, and has completed. */
  SEND_STARTED: 23,
  SEND_FINISHED: 24,
  /** A block of peer is here. */
  RECEIVED: 25,
  /** What this member waits for from now on. Nothing: there is no message, or it has work. */
  WAITS_FOR_NOTHING: 40,
  /** A block of peer. */
  WAITS_FOR_BLOCK: 41,
  /** Peer's announcement of a receive, or its free slot. */
  WAITS_FOR_READY: 42,
  /** The completion of earlier sends, of which the oldest is to peer. */
  WAITS_FOR_SENT: 43,
  /** Its own application: memory for a message. */
  WAITS_FOR_APPLICATION: 44,
} as const;
/** A number of {@link TraceKind}. */
export type TraceKindNumber = (typeof TraceKind)[keyof typeof TraceKind];
