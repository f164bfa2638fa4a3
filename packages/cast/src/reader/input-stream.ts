import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Checksum } from '../checksum.js';
import type { Codec } from '../compression/codec.js';
import { PiecePacker } from '../compression/piece-packer.js';
import { ContentDigest } from '../content-digest.js';
import { ProblemList } from '../problems.js';
import {
  CHECK_RECORD_BYTES,
  FileStatus,
  FixedBytes,
  RECORD_HEADER_BYTES,
  UNKNOWN_SIZE,
} from '../stream/layout.js';
import type { MessageChecks } from '../stream/message-check.js';
import { DATA_OVERHEAD_BYTES, MessageEncoder } from '../stream/message-encoder.js';
import type { Timestamp } from '../stream/records.js';
import type { FilledMessage, MessageSource } from './message-source.js';
import { mostPieceBytes, putPiece } from './packed-filler.js';
import { Totals } from './totals.js';

/** The only entry of the cast. */
const INDEX = 0;
/** Room for a FILE_END and a STREAM_END. */
const END_BYTES = 2 * RECORD_HEADER_BYTES + FixedBytes.FILE_END + FixedBytes.STREAM_END;

/** What the application's thread sends through the port: the next bytes, or the end. */
export type InputPart = { readonly bytes: Uint8Array } | { readonly end: true };

/** A file whose bytes come from the application, with a length that nobody knows before its end. */
export interface InputOrder {
  /** Its name at the receivers: one component. */
  readonly name: Uint8Array;
  readonly mode: number;
  readonly time: Timestamp;
  /** Where its bytes come from. The bytes of a message are there before the message is asked for. */
  readonly port: MessagePort;
}

export interface InputStreamOptions {
  /** Where a receiver checks messages by themselves. */
  readonly checks?: MessageChecks | undefined;
  /** How contents are compressed; undefined: not. */
  readonly codec?: Codec | undefined;
}

interface KeptMessage {
  readonly bytes: Buffer;
  /** Bytes of contents in the stream up to its end. */
  readonly contentBytes: number;
}

/**
 * Fills the messages of a cast of one file from bytes that come only once. A message is kept until all receivers have it,
 * because survivors of a failed group may lack it.
 */
export class InputStream implements MessageSource {
  readonly totals = new Totals();
  readonly problems = new ProblemList();
  readonly #kept = new Map<number, KeptMessage>();
  readonly #parts: Uint8Array[] = [];
  readonly #digest: ContentDigest;
  readonly #packer: PiecePacker | undefined;
  private readonly checks: MessageChecks | undefined;
  /** Messages filled for the first time. */
  #made = 0;
  #forgottenBelow = 0;
  #offset = 0;
  #begun = false;
  /** No further bytes come. */
  #ended = false;
  /** The end of the stream is in a message. */
  #complete = false;

  constructor(
    private readonly order: InputOrder,
    checksum: Checksum,
    { checks, codec }: InputStreamOptions = {},
  ) {
    this.checks = checks;
    this.#packer = codec && new PiecePacker(codec);
    this.#digest = new ContentDigest(checksum, INDEX);
  }

  /** The contents, as they are in the messages. */
  get packedBytes(): number {
    return this.#offset - (this.#packer?.savedBytes ?? 0);
  }

  get contentBytes(): number {
    return this.#offset;
  }

  fill(sequence: number, target: Buffer): FilledMessage {
    if (this.#complete && sequence >= this.#made)
      return { bytes: 0, last: true, contentBytes: this.#offset, keptBytes: 0 };
    if (sequence > this.#made || sequence < this.#forgottenBelow)
      throw new RangeError(`message ${sequence} cannot be filled: the next one is ${this.#made}`);
    if (sequence === this.#made) this.#make(sequence, target);
    const { bytes, contentBytes } = this.#kept.get(sequence)!;
    bytes.copy(target);
    return {
      bytes: bytes.length,
      last: this.#complete && sequence === this.#made - 1,
      contentBytes,
      keptBytes: 0,
    };
  }

  forget(sequence: number): void {
    const below = Math.min(sequence, this.#made);
    for (; this.#forgottenBelow < below; this.#forgottenBelow += 1) this.#kept.delete(this.#forgottenBelow);
  }

  close(): void {
    this.order.port.close();
  }

  #make(sequence: number, target: Buffer): void {
    this.#collect();
    const room = target.length - (this.checks ? CHECK_RECORD_BYTES : 0);
    const encoder = new MessageEncoder(target, room);
    if (!this.#begun) this.#begin(encoder);
    if (this.#packer) this.#packedData(encoder, target, this.#packer);
    else this.#data(encoder, target);
    if (this.#ended && this.#parts.length === 0) this.#end(encoder);
    this.checks?.add(encoder, target, sequence);
    const bytes = Buffer.from(target.subarray(0, encoder.finish(sequence)));
    this.#kept.set(sequence, { bytes, contentBytes: this.#offset });
    this.#made += 1;
  }

  /** Takes the parts that have been sent through the port. */
  #collect(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.order.port) as { readonly message: InputPart } | undefined;
      if (received === undefined) return;
      if ('end' in received.message) this.#ended = true;
      else this.#parts.push(received.message.bytes);
    }
  }

  #begin(encoder: MessageEncoder): void {
    const { name, mode, time } = this.order;
    encoder.fileBegin({ index: INDEX, mode, time, size: UNKNOWN_SIZE, path: Buffer.from(name) });
    this.totals.count('file');
    this.#begun = true;
  }

  #data(encoder: MessageEncoder, target: Buffer): void {
    const room = encoder.spaceLeft - DATA_OVERHEAD_BYTES;
    const place = encoder.dataPlace();
    let length = 0;
    while (length < room && this.#parts.length > 0) {
      const part = this.#parts[0]!;
      const taken = part.subarray(0, room - length);
      target.set(taken, place + length);
      length += taken.length;
      if (taken.length === part.length) this.#parts.shift();
      else this.#parts[0] = part.subarray(taken.length);
    }
    if (length <= 0) return;
    this.#digest.update(target.subarray(place, place + length));
    encoder.data(INDEX, this.#offset, length);
    this.#offset += length;
  }

  #packedData(encoder: MessageEncoder, target: Buffer, packer: PiecePacker): void {
    const most = mostPieceBytes(target);
    while (this.#parts.length > 0) {
      const piece = this.#take(most);
      if (!putPiece({ encoder, target, packer }, INDEX, this.#offset, piece)) {
        this.#parts.unshift(piece);
        return;
      }
      this.#digest.update(piece);
      this.#offset += piece.length;
    }
  }

  /** The next bytes, at most so many. */
  #take(most: number): Buffer {
    const taken: Uint8Array[] = [];
    let length = 0;
    while (length < most && this.#parts.length > 0) {
      const part = this.#parts.shift()!;
      const used = part.subarray(0, most - length);
      if (used.length < part.length) this.#parts.unshift(part.subarray(used.length));
      taken.push(used);
      length += used.length;
    }
    return Buffer.concat(taken);
  }

  /** Where the message has no room for the ends, they are in the next one. */
  #end(encoder: MessageEncoder): void {
    if (encoder.spaceLeft < END_BYTES) return;
    this.totals.bytes = this.#offset;
    encoder.fileEnd({ index: INDEX, status: FileStatus.WHOLE, digest: this.#digest.digest() });
    encoder.streamEnd(this.totals);
    this.#complete = true;
  }
}
