import { MAX_COUNTER_NAME_BYTES, MAX_NAMED_COUNTERS } from './constants.js';
import {
  CONTROL_BYTES,
  CONTROL_MAGIC,
  CONTROL_VERSION,
  COUNTERS_OFFSET,
  ControlWord,
  NAMED_OFFSET,
  NAMED_SLOT_BYTES,
} from './control.js';
import { DataPlaneError } from './errors.js';
import { ringDepth } from './ring.js';

/** Order of the counters in shared memory. */
const COUNTER_NAMES = [
  'completions',
  'unclaimedCompletions',
  'polls',
  'emptyPolls',
  'sleeps',
  'wakeups',
  'turns',
  'commands',
  'replies',
  'events',
  'eventRingFull',
  'contested',
  'pollingMicroseconds',
] as const;
type CounterName = (typeof COUNTER_NAMES)[number];

/** Index of each counter, for the worker. */
export const Counter = Object.fromEntries(COUNTER_NAMES.map((name, index) => [name, index])) as Readonly<
  Record<CounterName, number>
>;

/** A reading of the counters; all count from the start of the data plane. */
export interface Counters {
  /** Completions taken from the queue. */
  readonly completions: number;
  /** Of these, the completions of queue pairs that were not attached, or not any more. */
  readonly unclaimedCompletions: number;
  /** Polls of the completion queue, and the empty ones. */
  readonly polls: number;
  /** Polls that did not find a completion. */
  readonly emptyPolls: number;
  /** How often the worker went to sleep, and how often it was woken. */
  readonly sleeps: number;
  /** How often it was woken. */
  readonly wakeups: number;
  /** Turns of the loop that found work. */
  readonly turns: number;
  /** Commands and posts taken from the command ring. */
  readonly commands: number;
  /** Answers to commands, and events, written to the event ring. */
  readonly replies: number;
  /** Events that protocols have sent. */
  readonly events: number;
  /** How often the event ring was full and the worker waited for the application. */
  readonly eventRingFull: number;
  /** How often the worker found its processor contested and changed to interrupts. */
  readonly contested: number;
  /** Time the loop was awake: polling and working. Does not grow while it sleeps. */
  readonly pollingMicroseconds: number;
  /** Current content of the rings, in bytes. */
  readonly commandRingBytes: number;
  /** Current content of the event ring, in bytes. */
  readonly eventRingBytes: number;
  /** Counters of the protocols, named `protocol.counter`. */
  readonly named: Readonly<Record<string, number>>;
}

/**
 * Reads the counters of a data plane from its `countersBuffer`, in any thread that has it.
 * @throws DataPlaneError ERR_RDMC_INVALID_COUNTERS if the buffer is not a `countersBuffer`
 */
export function readCounters(buffer: SharedArrayBuffer): Counters {
  if (!(buffer instanceof SharedArrayBuffer) || buffer.byteLength !== CONTROL_BYTES) {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_COUNTERS',
      'readCounters: needs the countersBuffer of a DataPlane',
    );
  }
  const words = new Int32Array(buffer);
  const version = words[ControlWord.VERSION];
  if (words[ControlWord.MAGIC] !== CONTROL_MAGIC || version !== CONTROL_VERSION) {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_COUNTERS',
      `readCounters: the buffer has layout version ${version}, this package reads ${CONTROL_VERSION}`,
    );
  }
  const values = new Float64Array(buffer, COUNTERS_OFFSET, COUNTER_NAMES.length);
  const reading = Object.fromEntries(COUNTER_NAMES.map((name, index) => [name, values[index]!]));
  return {
    ...(reading as Record<CounterName, number>),
    commandRingBytes: ringDepth(words, ControlWord.COMMAND_HEAD, ControlWord.COMMAND_TAIL),
    eventRingBytes: ringDepth(words, ControlWord.EVENT_HEAD, ControlWord.EVENT_TAIL),
    named: readNamed(buffer, words),
  };
}

/** The sums of readings of different threads, named counters included. */
export function addCounters(...readings: readonly Counters[]): Counters {
  const sums: Record<string, number> = {};
  const named: Record<string, number> = {};
  for (const { named: ofProtocols, ...numbers } of readings) {
    addEach(sums, numbers);
    addEach(named, ofProtocols);
  }
  return { ...(sums as unknown as Omit<Counters, 'named'>), named };
}

function addEach(sums: Record<string, number>, numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) sums[name] = (sums[name] ?? 0) + value;
}

function readNamed(buffer: SharedArrayBuffer, words: Int32Array): Record<string, number> {
  const bytes = new Uint8Array(buffer);
  const view = new DataView(buffer);
  const named: Record<string, number> = {};
  const count = Atomics.load(words, ControlWord.NAMED_COUNTERS);
  for (let i = 0; i < count; i += 1) {
    const base = NAMED_OFFSET + i * NAMED_SLOT_BYTES;
    const length = view.getUint32(base + 8, true);
    const name = new TextDecoder().decode(bytes.slice(base + 12, base + 12 + length));
    named[name] = view.getFloat64(base, true);
  }
  return named;
}

/** One counter of a protocol, in shared memory. */
export interface NamedCounter {
  /** Adds to the counter: a store without an atomic operation, because one thread writes it. */
  add(n: number): void;
}

/** The worker's side of the counters. */
export class CounterBlock {
  /** Increment with `values[Counter.x] += n`. */
  readonly values: Float64Array;
  readonly #named = new Map<string, NamedCounter>();

  constructor(private readonly buffer: SharedArrayBuffer) {
    this.values = new Float64Array(buffer, COUNTERS_OFFSET, COUNTER_NAMES.length);
  }

  /**
   * The counter of that name, created at the first call.
   * @throws DataPlaneError ERR_RDMC_TOO_MANY_COUNTERS, ERR_RDMC_INVALID_OPTION
   */
  named(name: string): NamedCounter {
    let counter = this.#named.get(name);
    if (!counter) {
      counter = this.#create(name);
      this.#named.set(name, counter);
    }
    return counter;
  }

  #create(name: string): NamedCounter {
    const encoded = new TextEncoder().encode(name);
    if (encoded.byteLength > MAX_COUNTER_NAME_BYTES) {
      throw new DataPlaneError(
        'ERR_RDMC_INVALID_OPTION',
        `counter: the name '${name}' is longer than ${MAX_COUNTER_NAME_BYTES} bytes`,
      );
    }
    const index = this.#named.size;
    if (index === MAX_NAMED_COUNTERS) {
      throw new DataPlaneError(
        'ERR_RDMC_TOO_MANY_COUNTERS',
        `counter: all ${MAX_NAMED_COUNTERS} counters are in use, none is left for '${name}'`,
      );
    }
    const base = NAMED_OFFSET + index * NAMED_SLOT_BYTES;
    new Uint8Array(this.buffer).set(encoded, base + 12);
    new DataView(this.buffer).setUint32(base + 8, encoded.byteLength, true);
    const value = new Float64Array(this.buffer, base, 1);
    Atomics.store(new Int32Array(this.buffer), ControlWord.NAMED_COUNTERS, index + 1);
    return {
      add(n) {
        value[0]! += n;
      },
    };
  }
}
