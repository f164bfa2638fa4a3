/** Replies of RESP. In version 3 a missing value is `_`, and a table is a map. */
import { Buffer } from 'node:buffer';
import { MAX_OUTPUT_BYTES, SLAB_BYTES } from '../limits.js';
import { CommandError } from './command-error.js';

/** Room for a type, the digits of a length, and line ends. */
const HEADER_BYTES = 32;
const CRLF = '\r\n';
const [CR, LF, DOLLAR, COLON, STAR, MINUS, ZERO] = [13, 10, 36, 58, 42, 45, 48] as const;
const OK = Buffer.from('+OK\r\n');

export type RespVersion = 2 | 3;

/**
 * Writes the replies of many clients one after the other into slabs. A run of replies (`begin` to `end`) is one piece
 * of memory that is not written again, so it can be given to a socket, or kept until it may be sent.
 */
export class ReplyWriter {
  version: RespVersion = 2;
  /** The slab of short runs. */
  #shared = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** The slab of the run: the shared one, or for a long run one of its own. A short run must not keep the memory of a long one. */
  #slab = this.#shared;
  /** Where the shared slab is free, while the run has its own. */
  #sharedAt = 0;
  #start = 0;
  #at = 0;

  /** Bytes in the run. */
  get length(): number {
    return this.#at - this.#start;
  }

  begin(): void {
    if (this.#slab !== this.#shared) {
      this.#slab = this.#shared;
      this.#at = this.#sharedAt;
    }
    this.#start = this.#at;
  }

  /** The run's bytes, or its first ones; the next run begins behind them. */
  end(length = this.length): Buffer {
    const run = this.#slab.subarray(this.#start, this.#start + length);
    this.#start += length;
    return run;
  }

  /** Removes the bytes of the run beyond a length. What is left does not keep the memory of a much longer run. */
  truncate(length: number): void {
    this.#at = this.#start + length;
    if (this.#slab === this.#shared || this.#slab.length <= 2 * length + SLAB_BYTES) return;
    const left = this.#slab.subarray(this.#start, this.#at);
    this.begin();
    this.raw(left);
  }

  ok(): void {
    this.#room(HEADER_BYTES);
    this.#at += OK.copy(this.#slab, this.#at);
  }

  simple(text: string): void {
    this.#text(`+${text}${CRLF}`);
  }

  /** The first word is the kind: ERR, WRONGTYPE, OOM, CLUSTERDOWN … */
  error(text: string): void {
    this.#text(`-${text.replace(/[\r\n]+/g, ' ')}${CRLF}`);
  }

  /** @throws CommandError for a number that is not an integer: the client could not read the reply, nor those behind it */
  integer(value: number): void {
    if (!Number.isInteger(value)) throw new CommandError(`ERR a reply has ${value} in place of an integer`);
    this.#header(COLON, value);
  }

  array(length: number): void {
    this.#header(STAR, length);
  }

  /** So many elements without an order. */
  set(length: number): void {
    if (this.version === 2) this.array(length);
    else this.#text(`~${length}${CRLF}`);
  }

  /** So many names, each followed by its value. */
  map(length: number): void {
    if (this.version === 2) this.array(length * 2);
    else this.#text(`%${length}${CRLF}`);
  }

  missing(): void {
    this.#text(this.version === 2 ? '$-1\r\n' : '_\r\n');
  }

  /** A missing list. */
  missingArray(): void {
    this.#text(this.version === 2 ? '*-1\r\n' : '_\r\n');
  }

  /** A bulk string whose characters are bytes. */
  bulk(value: string): void {
    const { length } = value;
    this.#header(DOLLAR, length);
    this.#room(length + 2);
    this.#at += this.#slab.write(value, this.#at, length, 'latin1');
    this.#lineEnd();
  }

  /** A value, or a missing one. */
  bulkOrMissing(value: string | undefined): void {
    if (value === undefined) this.missing();
    else this.bulk(value);
  }

  /** Adds bytes that are RESP. */
  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#slab.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Two numbers of 32 bits, little endian, which `patchU32` may overwrite as long as the run lasts. */
  frame(first: number, second: number): void {
    this.#room(8);
    this.#slab.writeUInt32LE(first, this.#at);
    this.#slab.writeUInt32LE(second, this.#at + 4);
    this.#at += 8;
  }

  patchU32(offset: number, value: number): void {
    this.#slab.writeUInt32LE(value, this.#start + offset);
  }

  #text(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#room(bytes);
    this.#at += this.#slab.write(text, this.#at, bytes, 'utf8');
  }

  #header(type: number, value: number): void {
    this.#room(HEADER_BYTES);
    const slab = this.#slab;
    slab[this.#at++] = type;
    if (value >= 0 && value < 10) slab[this.#at++] = ZERO + value;
    else if (value >= 0 && value < 100_000_000) this.#digits(value);
    else this.#at += slab.write(String(value), this.#at, 'latin1');
    this.#lineEnd();
  }

  #digits(value: number): void {
    let digits = 1;
    for (let least = 10; least <= value; least *= 10) digits += 1;
    let rest = value;
    for (let at = this.#at + digits - 1; at >= this.#at; at -= 1) {
      const next = (rest / 10) | 0;
      this.#slab[at] = ZERO + rest - next * 10;
      rest = next;
    }
    this.#at += digits;
  }

  #lineEnd(): void {
    this.#slab[this.#at++] = CR;
    this.#slab[this.#at++] = LF;
  }

  /** A run stays in one piece: where the slab ends, it moves to the next. */
  #room(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return;
    const run = this.#slab.subarray(this.#start, this.#at);
    const needed = run.length + bytes;
    if (needed > MAX_OUTPUT_BYTES) throw new CommandError(`ERR a reply is over ${MAX_OUTPUT_BYTES} bytes`);
    const slab = allocate(slabBytes(run.length, needed));
    run.copy(slab);
    if (this.#slab === this.#shared) this.#sharedAt = this.#start;
    if (needed <= SLAB_BYTES) this.#shared = slab;
    this.#slab = slab;
    this.#start = 0;
    this.#at = run.length;
  }
}

/** A long run has room to grow to twice its length. */
function slabBytes(length: number, needed: number): number {
  if (needed <= SLAB_BYTES) return SLAB_BYTES;
  return Math.min(Math.max(2 * length, needed) + SLAB_BYTES, MAX_OUTPUT_BYTES);
}

/** @throws CommandError where there is no memory: a command must not end the server */
function allocate(bytes: number): Buffer<ArrayBuffer> {
  try {
    return Buffer.allocUnsafeSlow(bytes);
  } catch {
    throw new CommandError(`ERR the server does not have the memory for a reply of ${bytes} bytes`);
  }
}

/** The first byte of an error reply. */
export const ERROR_MARK = MINUS;
export const INTEGER_MARK = COLON;
