import { Buffer } from 'node:buffer';

const MOST_DIGITS = 19;
const LEAST_TABLE = 64;
/** Tables above this shrink when the next command begins. */
const KEPT_TABLE = 1024;
const BYTES_PER_ARGUMENT = 2 * Int32Array.BYTES_PER_ELEMENT;
const EMPTY = Buffer.alloc(0);
const MINUS = 45;
const ZERO = 48;
const NINE = 57;

/**
 * The arguments of one command, as ranges of the memory that they arrived in; 0 is the command's name. Valid until
 * the parser is asked for the next command: take a string or a copy of bytes that you keep.
 */
export class Arguments {
  buffer: Buffer = EMPTY;
  count = 0;
  starts = new Int32Array(LEAST_TABLE);
  ends = new Int32Array(LEAST_TABLE);
  /** The hash slot of the first key, after the first use; −1 before. */
  firstSlot = -1;
  /** An argument was over the limit: its bytes were skipped, and the command must be refused. */
  oversized = false;

  /** @internal Room for one more. */
  push(start: number, end: number): void {
    if (this.count === this.starts.length) this.#grow();
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.count += 1;
  }

  /** @internal Begins a command whose bytes are in the buffer. */
  reset(buffer: Buffer): void {
    this.count = 0;
    this.oversized = false;
    this.firstSlot = -1;
    this.buffer = buffer;
    if (this.starts.length > KEPT_TABLE) {
      this.starts = new Int32Array(LEAST_TABLE);
      this.ends = new Int32Array(LEAST_TABLE);
    }
  }

  /** @internal Releases the bytes. */
  release(): void {
    this.buffer = EMPTY;
  }

  /** Bytes of the tables beyond their least size. */
  get extraTableBytes(): number {
    return (this.starts.length - LEAST_TABLE) * BYTES_PER_ARGUMENT;
  }

  /** The bytes as a string, one character each. Keys and values are stored in this form. */
  string(index: number): string {
    return this.buffer.toString('latin1', this.starts[index], this.ends[index]);
  }

  /** The first bytes in the same form. Unlike a slice of the whole string, it does not keep the rest in memory. */
  prefix(index: number, mostBytes: number): string {
    const start = this.starts[index]!;
    return this.buffer.toString('latin1', start, Math.min(this.ends[index]!, start + mostBytes));
  }

  length(index: number): number {
    return this.ends[index]! - this.starts[index]!;
  }

  /** An option's name, upper case. */
  word(index: number): string {
    return this.string(index).toUpperCase();
  }

  /** A whole number of 64 bits; undefined: the argument is not a whole number, or is beyond 2^53. */
  integer(index: number): number | undefined {
    return parseInteger(this.buffer, this.starts[index]!, this.ends[index]!);
  }

  #grow(): void {
    const [starts, ends] = [this.starts, this.ends];
    this.starts = new Int32Array(starts.length * 2);
    this.ends = new Int32Array(ends.length * 2);
    this.starts.set(starts);
    this.ends.set(ends);
  }
}

/** Redis's rule: digits, perhaps a minus, no leading zeros, no blanks. */
export function parseInteger(bytes: Uint8Array, start: number, end: number): number | undefined {
  let at = start;
  const negative = bytes[at] === MINUS && end > at;
  if (negative) at += 1;
  if (end === at || end - at > MOST_DIGITS) return undefined;
  if (bytes[at] === ZERO && (end - at > 1 || negative)) return undefined;
  let value = 0;
  for (; at < end; at += 1) {
    const digit = bytes[at]!;
    if (digit < ZERO || digit > NINE) return undefined;
    value = value * 10 + (digit - ZERO);
  }
  if (!Number.isSafeInteger(value)) return undefined;
  return negative ? -value : value;
}
