/**
 * Requests of RESP, the same in versions 2 and 3: an array of bulk strings, or a line of words ("inline").
 *
 * ```
 * *2\r\n$3\r\nGET\r\n$3\r\nkey\r\n          GET key\r\n
 * ```
 *
 * Nested arrays and other types are not requests, so the depth is bounded. Lengths are checked before a byte of their content is
 * kept; the bytes of a bulk string over the limit are skipped, not stored.
 */
import { Buffer } from 'node:buffer';
import { KvError } from '../errors.js';
import {
  MAX_ARGUMENTS,
  MAX_BULK_BYTES,
  MAX_COMMAND_BYTES,
  MAX_DECLARED_BULK_BYTES,
  MAX_INLINE_BYTES,
  MAX_UNAUTHENTICATED_ARGUMENTS,
  MAX_UNAUTHENTICATED_COMMAND_BYTES,
} from '../limits.js';
import { Arguments, parseInteger } from './arguments.js';
import { splitInline } from './inline.js';

const CR = 13;
const LF = 10;
const STAR = 42;
const DOLLAR = 36;
/** The longest line that announces a length, such as `*1048576`. */
const MAX_HEADER_BYTES = 32;
const LEAST_BUFFER_BYTES = 1024;
const EMPTY = Buffer.alloc(0);

/** The limits of one command, and the errors of commands beyond them. */
export interface RequestLimits {
  readonly arguments: number;
  readonly commandBytes: number;
  readonly inlineBytes: number;
  readonly tooManyArguments: string;
  readonly tooManyBytes: string;
}

/** Of clients that may run commands. */
export const CLIENT_LIMITS: RequestLimits = {
  arguments: MAX_ARGUMENTS,
  commandBytes: MAX_COMMAND_BYTES,
  inlineBytes: MAX_INLINE_BYTES,
  tooManyArguments: 'invalid multibulk length',
  tooManyBytes: `a command is over ${MAX_COMMAND_BYTES} bytes`,
};

/** Of clients that have not given the password. */
export const UNAUTHENTICATED_LIMITS: RequestLimits = {
  arguments: MAX_UNAUTHENTICATED_ARGUMENTS,
  commandBytes: MAX_UNAUTHENTICATED_COMMAND_BYTES,
  inlineBytes: MAX_UNAUTHENTICATED_COMMAND_BYTES,
  tooManyArguments: 'unauthenticated multibulk length',
  tooManyBytes: 'unauthenticated bulk length',
};

/** Reads commands from a stream of bytes cut anywhere. One per connection. */
export class RequestParser {
  readonly arguments = new Arguments();
  /** The limits of commands that begin from now on. */
  limits: RequestLimits = CLIENT_LIMITS;
  #buffer: Buffer = EMPTY;
  /** Whether the parser may write to the buffer: it is not a chunk of the socket. */
  #owned = false;
  /** The buffer has only bytes of which none was read when they were copied. */
  #isUnread = false;
  #position = 0;
  #end = 0;
  /** Offset of the current command. */
  #begin = 0;
  /** Missing arguments of the current command; 0 between commands. */
  #missing = 0;
  /** Length of the next bulk string; −1 while its header has not arrived. */
  #bulk = -1;
  /** Bytes of an oversized bulk string, with its end, that are still to be skipped. */
  #skip = 0;

  /** Bytes kept of a command that is not complete, and of the tables of its arguments. */
  get pendingBytes(): number {
    return this.#owned && !this.#isUnread ? this.#buffer.length + this.arguments.extraTableBytes : 0;
  }

  /** All bytes that this parser holds beyond those of a new one, its chunk included. */
  get heldBytes(): number {
    const own = this.#buffer === this.arguments.buffer ? 0 : this.arguments.buffer.length;
    return this.#buffer.length + own + this.arguments.extraTableBytes;
  }

  /** The last command's bytes as they arrived, valid as long as its arguments. */
  get command(): Buffer {
    return this.#buffer.subarray(this.#begin, this.#position);
  }

  /** Takes over a chunk, also to write to; the caller must not change it before the next one or until `next` returned false. */
  feed(chunk: Buffer): void {
    if (!this.#owned) {
      this.#buffer = chunk;
      this.#position = 0;
      this.#begin = 0;
      this.#end = chunk.length;
      return;
    }
    this.#reserve(chunk.length);
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
  }

  /**
   * Copies the bytes that were not read yet, because their chunk is not valid any more. The last command's arguments are not valid
   * any more, either.
   */
  keepUnread(): void {
    const isUnread = !this.#owned || this.#isUnread;
    this.#begin = this.#position;
    this.arguments.reset(this.#buffer);
    this.#keepRest();
    this.#isUnread = isUnread;
  }

  /**
   * The next complete command is in `arguments`; false when more bytes are needed.
   * @throws KvError ERR_RDMC_KV_PROTOCOL; the connection cannot be used any more
   */
  next(): boolean {
    const done = this.#advance();
    if (!done) this.#keepRest();
    return done;
  }

  #advance(): boolean {
    for (;;) {
      if (this.#missing === 0) {
        const begun = this.#beginCommand();
        if (begun !== undefined) return begun;
      }
      while (this.#missing > 0) {
        if (!this.#argument()) return false;
      }
      return true;
    }
  }

  /** True: an inline command is complete; false: more bytes; undefined: arguments follow. */
  #beginCommand(): boolean | undefined {
    for (;;) {
      this.#begin = this.#position;
      const { arguments: args } = this;
      args.reset(this.#buffer);
      if (this.#position === this.#end) return false;
      if (this.#buffer[this.#position] !== STAR) {
        const line = this.#line(this.limits.inlineBytes, 'too big inline request');
        if (line < 0) return false;
        if (!splitInline(this.#buffer, this.#begin, line, args)) continue;
        if (args.count > this.limits.arguments) throw protocol(this.limits.tooManyArguments);
        return true;
      }
      const line = this.#line(MAX_HEADER_BYTES, 'invalid multibulk length');
      if (line < 0) return false;
      const count = parseInteger(this.#buffer, this.#begin + 1, line);
      if (count === undefined) throw protocol('invalid multibulk length');
      if (count > this.limits.arguments) throw protocol(this.limits.tooManyArguments);
      if (count <= 0) continue;
      this.#missing = count;
      this.#bulk = -1;
      return undefined;
    }
  }

  #argument(): boolean {
    if (this.#skip > 0) return this.#passOver();
    if (this.#bulk < 0 && !this.#bulkHeader()) return false;
    if (this.#skip > 0) return this.#passOver();
    const start = this.#position;
    const end = start + this.#bulk;
    if (this.#end < end + 2) return false;
    if (this.#buffer[end] !== CR || this.#buffer[end + 1] !== LF) throw protocol('invalid bulk length');
    this.arguments.push(start, end);
    this.#position = end + 2;
    this.#bulk = -1;
    this.#missing -= 1;
    return true;
  }

  #bulkHeader(): boolean {
    const start = this.#position;
    if (start === this.#end) return false;
    const first = this.#buffer[start]!;
    if (first !== DOLLAR) throw protocol(`expected '$', got '${printable(first)}'`);
    const line = this.#line(MAX_HEADER_BYTES, 'invalid bulk length');
    if (line < 0) return false;
    const length = parseInteger(this.#buffer, start + 1, line);
    if (length === undefined || length < 0 || length > MAX_DECLARED_BULK_BYTES)
      throw protocol('invalid bulk length');
    const { commandBytes, tooManyBytes } = this.limits;
    if (length > MAX_BULK_BYTES && commandBytes > MAX_BULK_BYTES) {
      this.arguments.oversized = true;
      this.#skip = length + 2;
    } else if (this.#position - this.#begin + length > commandBytes) throw protocol(tooManyBytes);
    else this.#bulk = length;
    return true;
  }

  #passOver(): boolean {
    const here = Math.min(this.#skip, this.#end - this.#position);
    this.#skip -= here;
    // Skipped bytes are removed in place, so that they are not kept, and that the kept bytes are not copied with each
    // piece of a long string.
    this.#buffer.copyWithin(this.#position, this.#position + here, this.#end);
    this.#end -= here;
    if (this.#skip > 0) return false;
    this.arguments.push(this.#position, this.#position);
    this.#missing -= 1;
    return true;
  }

  /** The end of the line that starts at the position, without its CR and LF; −1: it has not arrived. Moves past it. */
  #line(most: number, complaint: string): number {
    const found = this.#buffer.indexOf(LF, this.#position);
    const end = found < 0 || found >= this.#end ? -1 : found;
    const length = (end < 0 ? this.#end : end) - this.#position;
    if (length > most) throw protocol(complaint);
    if (end < 0) return -1;
    this.#position = end + 1;
    return end > 0 && this.#buffer[end - 1] === CR && end - 1 >= this.#begin ? end - 1 : end;
  }

  /** Keeps only an unfinished command of a chunk of the socket, as a copy. */
  #keepRest(): void {
    this.#isUnread = false;
    const rest = this.#end - this.#begin;
    if (rest === 0) {
      this.release();
      return;
    }
    if (this.#owned) {
      if (this.#begin > this.#buffer.length >> 1) this.#shift(this.#buffer, this.#buffer);
      return;
    }
    const own = Buffer.allocUnsafeSlow(Math.max(LEAST_BUFFER_BYTES, rest + this.#expected()));
    this.#owned = true;
    this.#shift(this.#buffer, own);
  }

  /** Missing bytes of the current bulk string, so that a long one is not copied again and again. */
  #expected(): number {
    return this.#bulk < 0 ? 0 : Math.min(this.#bulk, 256 * 1024);
  }

  /** Gives up what it holds. No command may be read after that, unless the last one was complete. */
  release(): void {
    this.#buffer = EMPTY;
    this.arguments.release();
    this.#owned = false;
    this.#position = 0;
    this.#begin = 0;
    this.#end = 0;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const needed = this.#end - this.#begin + bytes;
    const fits = needed <= this.#buffer.length;
    const target = fits ? this.#buffer : Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#shift(this.#buffer, target);
  }

  /** Moves the current command to the beginning of a buffer. */
  #shift(from: Buffer, to: Buffer): void {
    const by = this.#begin;
    from.copy(to, 0, by, this.#end);
    const { arguments: args } = this;
    for (let i = 0; i < args.count; i += 1) {
      args.starts[i]! -= by;
      args.ends[i]! -= by;
    }
    args.buffer = to;
    this.#buffer = to;
    this.#begin = 0;
    this.#position -= by;
    this.#end -= by;
  }
}

function protocol(message: string): KvError {
  return new KvError('ERR_RDMC_KV_PROTOCOL', `Protocol error: ${message}`);
}

function printable(byte: number): string {
  return byte > 31 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
}
