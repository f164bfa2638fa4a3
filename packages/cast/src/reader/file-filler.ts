import { CHUNK_BYTES, HOLE_BYTES, MAX_KEEP_BYTES } from '../constants.js';
import {
  DATA_OVERHEAD_BYTES,
  HOLE_RECORD_BYTES,
  KEEP_RECORD_BYTES,
  type MessageEncoder,
} from '../stream/message-encoder.js';
import type { FileHash } from './file-hash.js';
import type { FileSource } from './file-source.js';

/** Space smaller than this at the end of a message stays empty, unless the rest of the file fits into it. */
const LEAST_DATA_BYTES = 4096;
const ZEROS = Buffer.alloc(HOLE_BYTES);

/** The result of filling. */
export interface Filled {
  readonly offset: number;
  /** Bytes of contents written; holes are not counted. */
  readonly contentBytes: number;
  /** Bytes that receivers take from their older files. */
  readonly keptBytes: number;
  /** The file ended before its size. */
  readonly short: boolean;
}

/** A part of a file, and the message it goes to. */
export interface FillRequest {
  readonly encoder: MessageEncoder;
  /** The message's memory. */
  readonly target: Buffer;
  readonly source: FileSource;
  readonly hash: FileHash;
  /** Index of the file in the cast. */
  readonly index: number;
  readonly offset: number;
  readonly end: number;
}

/** Reads a file's bytes from `offset` to `end` directly into a message, as far as there is room. */
export function fillData({ encoder, target, source, hash, index, offset, end }: FillRequest): Filled {
  const room = encoder.spaceLeft - DATA_OVERHEAD_BYTES;
  const length = Math.min(room, end - offset);
  if (length < Math.min(LEAST_DATA_BYTES, end - offset))
    return { offset, contentBytes: 0, keptBytes: 0, short: false };
  const place = encoder.dataPlace();
  for (let done = 0; done < length; done += CHUNK_BYTES) {
    const chunk = target.subarray(place + done, place + Math.min(done + CHUNK_BYTES, length));
    if (!source.read(chunk, offset + done)) return { offset, contentBytes: 0, keptBytes: 0, short: true };
    hash.update(index, offset + done, chunk);
  }
  encoder.data(index, offset, length);
  return { offset: offset + length, contentBytes: length, keptBytes: 0, short: false };
}

/** As `fillData`, for a file with holes: pieces that are all zero become holes. */
export function fillSparse({ encoder, target, source, hash, index, offset, end }: FillRequest): Filled {
  const runs = new Runs(encoder, index, offset);
  let at = offset;
  while (at < end) {
    const length = Math.min(HOLE_BYTES, end - at);
    if (runs.spaceLeft < length) break;
    const piece = target.subarray(runs.place, runs.place + length);
    if (!source.read(piece, at)) return { offset, contentBytes: 0, keptBytes: 0, short: true };
    const isHole = Buffer.compare(piece, ZEROS.subarray(0, length)) === 0;
    if (isHole) hash.hole(index, at, length);
    else hash.update(index, at, piece);
    at += length;
    runs.add(length, isHole);
  }
  runs.finish();
  return { offset: at, contentBytes: runs.contentBytes, keptBytes: 0, short: false };
}

let scratch: Buffer | undefined;

/** Lets receivers take bytes from their older files. They are read here only for the digest of the file. */
export function fillKept({ encoder, source, hash, index, offset, end }: FillRequest): Filled {
  const length = Math.min(MAX_KEEP_BYTES, end - offset);
  const nothing = { offset, contentBytes: 0, keptBytes: 0 };
  if (encoder.spaceLeft < KEEP_RECORD_BYTES) return { ...nothing, short: false };
  scratch ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let done = 0; done < length; done += CHUNK_BYTES) {
    const chunk = scratch.subarray(0, Math.min(CHUNK_BYTES, length - done));
    if (hash.isHashed(index, offset + done, chunk.length)) continue;
    if (!source.read(chunk, offset + done)) return { ...nothing, short: true };
    hash.update(index, offset + done, chunk);
  }
  encoder.keep({ index, offset, length });
  return { offset: offset + length, contentBytes: 0, keptBytes: length, short: false };
}

/** Writes alternating records of holes and data; at most one of each is pending. */
class Runs {
  contentBytes = 0;
  #holeBytes = 0;
  #dataBytes = 0;

  constructor(
    private readonly encoder: MessageEncoder,
    private readonly index: number,
    private offset: number,
  ) {}

  /** Where the next piece is read to: if it is data, it is in place already. */
  get place(): number {
    return this.encoder.dataPlace(this.#pendingHole) + this.#dataBytes;
  }

  /** Bytes of data that fit beside the pending records and a hole after them. */
  get spaceLeft(): number {
    const pending = this.#pendingHole + DATA_OVERHEAD_BYTES + this.#dataBytes;
    return this.encoder.spaceLeft - pending - HOLE_RECORD_BYTES;
  }

  add(length: number, zero: boolean): void {
    if (zero) {
      if (this.#dataBytes > 0) this.finish();
      this.#holeBytes += length;
    } else {
      this.#dataBytes += length;
      this.contentBytes += length;
    }
  }

  finish(): void {
    const { encoder, index } = this;
    if (this.#holeBytes > 0) encoder.hole({ index, offset: this.offset, length: this.#holeBytes });
    this.offset += this.#holeBytes;
    if (this.#dataBytes > 0) encoder.data(index, this.offset, this.#dataBytes);
    this.offset += this.#dataBytes;
    this.#holeBytes = 0;
    this.#dataBytes = 0;
  }

  get #pendingHole(): number {
    return this.#holeBytes > 0 ? HOLE_RECORD_BYTES : 0;
  }
}
