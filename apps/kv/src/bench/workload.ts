import { Buffer } from 'node:buffer';
import { encodeCommand } from '../resp/encode.js';
import { slotOf } from '../store/slot.js';
import { Zipf } from './zipf.js';

/** YCSB's A: half reads, half updates; B: 95 % reads; C: reads. */
export const WORKLOADS = { a: 0.5, b: 0.95, c: 1, 'write-only': 0 } as const;
export type WorkloadName = keyof typeof WORKLOADS;

const KEY_BYTES = 30;
const VALUE_BYTES = 100;

export interface Operation {
  readonly bytes: Buffer;
  readonly slot: number;
}

/** Records of 100 bytes under keys of 30, chosen by Zipf's law with 0.99. */
export class Workload {
  readonly #zipf: Zipf;
  readonly #reads: (Operation | undefined)[];
  readonly #writes: (Operation | undefined)[];

  constructor(
    private readonly readShare: number,
    private readonly records: number,
    /** Prefixes of the keys, by turns: a hash tag puts its keys into one slot. */
    private readonly prefixes: readonly string[] = ['user'],
  ) {
    this.#zipf = new Zipf(records);
    this.#reads = new Array(records);
    this.#writes = new Array(records);
  }

  next(): Operation {
    const isRead = Math.random() < this.readShare;
    return isRead ? this.read(this.#zipf.next()) : this.write(this.#zipf.next());
  }

  read(record: number): Operation {
    this.#reads[record] ??= operation(this.#key(record), (key) => ['GET', key]);
    return this.#reads[record];
  }

  write(record: number): Operation {
    this.#writes[record] ??= operation(this.#key(record), (key) => ['SET', key, valueFor(record)]);
    return this.#writes[record];
  }

  /** Popular records are spread over the keys, as in YCSB. */
  #key(record: number): string {
    const scattered = (record * 2_654_435_761) % this.records;
    const prefix = this.prefixes[scattered % this.prefixes.length]!;
    const digits = KEY_BYTES - prefix.length;
    return `${prefix}${String(scattered * 1_000_003 + record).padStart(digits, '0')}`;
  }
}

function operation(key: string, words: (key: string) => string[]): Operation {
  const bytes = Buffer.from(key);
  return { bytes: encodeCommand(words(key)), slot: slotOf(bytes, 0, bytes.length) };
}

function valueFor(record: number): string {
  return String(record).padStart(VALUE_BYTES, 'v');
}
