import { performance } from 'node:perf_hooks';
import {
  RECORD_BYTES,
  RECORD_WORDS,
  RecordWord,
  RING_HEADER_BYTES,
  RING_MAGIC,
  RingWord,
  TRACE_VERSION,
  type TraceKindNumber,
} from './layout.js';

/** Takes records. `TraceRecorder` writes them into a ring; simulations have their own. */
export interface TraceSink {
  /** @param subject what wrote it: the result of {@link traceSubject} */
  put(subject: TraceSubject, kind: TraceKindNumber, message: number, block: number, peer: number): void;
}

/** The writer of records: a protocol, and its group, channel or log. */
export interface TraceSubject {
  /** A number of `TraceProtocol`, shifted to its place in a record. */
  readonly protocolBits: number;
  /** The id of the group, channel or log. */
  readonly group: number;
}

/** @param protocol a number of `TraceProtocol`, or 128 to 255 for a protocol of the program */
export function traceSubject(protocol: number, group: number): TraceSubject {
  return { protocolBits: protocol << 8, group };
}

/** Shared memory for a ring of `records` records, a power of two. */
export function createTraceRing(records: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(RING_HEADER_BYTES + records * RECORD_BYTES);
  const words = new Int32Array(memory);
  words[RingWord.MAGIC] = RING_MAGIC;
  words[RingWord.VERSION] = TRACE_VERSION;
  words[RingWord.CAPACITY] = records;
  return memory;
}

/** The clock of traces: nanoseconds of CLOCK_MONOTONIC. `performance.now` reads it without an allocation. */
export function traceClock(): () => number {
  const offset = Number(process.hrtime.bigint()) - performance.now() * 1e6;
  return () => Math.round(performance.now() * 1e6 + offset);
}

/** The writing end of a ring. Belongs to one thread. Drops the oldest records when the ring is full. */
export class TraceRecorder implements TraceSink {
  readonly #control: Int32Array;
  readonly #words: Uint32Array;
  readonly #times: Float64Array;
  readonly #mask: number;
  #written: number;

  constructor(
    memory: SharedArrayBuffer,
    private readonly member: number,
    private readonly now: () => number = traceClock(),
  ) {
    this.#control = new Int32Array(memory, 0, RING_HEADER_BYTES / 4);
    this.#words = new Uint32Array(memory, RING_HEADER_BYTES);
    this.#times = new Float64Array(memory, RING_HEADER_BYTES);
    this.#mask = this.#control[RingWord.CAPACITY]! - 1;
    this.#written = Atomics.load(this.#control, RingWord.WRITTEN);
  }

  put(subject: TraceSubject, kind: TraceKindNumber, message: number, block: number, peer: number): void {
    const at = (this.#written & this.#mask) * RECORD_WORDS;
    const words = this.#words;
    this.#times[at >>> 1] = this.now();
    words[at + RecordWord.MEMBER] = this.member;
    words[at + RecordWord.WHAT] = subject.protocolBits | kind;
    words[at + RecordWord.GROUP] = subject.group;
    words[at + RecordWord.MESSAGE] = message;
    words[at + RecordWord.BLOCK] = block;
    words[at + RecordWord.PEER] = peer;
    this.#written = (this.#written + 1) | 0;
    Atomics.store(this.#control, RingWord.WRITTEN, this.#written);
  }
}
