import type { Buffer } from 'node:buffer';
import { MAX_INDEXED_BYTES } from '../limits.js';
import { type Change, undoChange } from './changes.js';
import { Entry } from './entry.js';
import type { KeyValue } from './hash.js';
import type { Keyspace } from './keyspace.js';
import { PackedAppend } from './packed-append.js';
import { doesExpire, type KeyPlace, readString, removalBytes, writeVersion } from './record.js';
import { tooLarge } from './too-large.js';

export interface AdoptedOptions {
  readonly keyspace: Keyspace;
  /** The append. */
  readonly sequence: number;
  /** Identifies the takeover that the strings come from; each key occurs once in it. */
  readonly origin: symbol;
  readonly nextVersion: () => number;
  readonly maxAppendBytes: number;
}

/** Neighbouring entries. */
interface Piece {
  readonly bytes: Buffer;
  readonly start: number;
  end: number;
}

/**
 * Strings of another log that become this one's in one append. Their bytes go to the log as they are, with other versions: so
 * nothing is encoded.
 */
export class Adopted {
  /** Of those that are in the index, with their positions in the append. */
  readonly changes: Change[] = [];
  readonly positions: number[] = [];
  /** The others. */
  readonly packed: PackedAppend;
  #count = 0;
  /** Bytes of the entries, as the log counts them. */
  bytes = 0;
  readonly #pieces: Piece[] = [];

  constructor(private readonly options: AdoptedOptions) {
    this.packed = new PackedAppend(options.sequence, options.origin);
  }

  /** The most bytes that an append may have. */
  get maxBytes(): number {
    return this.options.maxAppendBytes;
  }

  /**
   * Keeps the key in its bytes, or in the index where its slot has one, and puts its version into these bytes: they must not change
   * any more.
   * @throws KvError ERR_RDMC_ENTRY_TOO_LARGE
   */
  add(slot: number, place: Readonly<KeyPlace>): void {
    const { keyspace, nextVersion, maxAppendBytes } = this.options;
    const { bytes, at, end, keyStart, keyEnd } = place;
    // A key that cannot be removed must not be stored.
    const least = Math.max(end - at, removalBytes(keyEnd - keyStart));
    if (least > maxAppendBytes) throw tooLarge(least, maxAppendBytes);
    const version = nextVersion();
    writeVersion(place, version);
    // A key with an expiry is in an index of its own.
    const mayPack = !doesExpire(place) && end - at <= MAX_INDEXED_BYTES;
    if (!mayPack || !keyspace.pack(slot, place, this.packed, this.#count)) this.#set(slot, place, version);
    this.#count += 1;
    this.bytes += end - at;
    const last = this.#pieces.at(-1);
    if (last?.bytes === bytes && last.end === at) last.end = end;
    else this.#pieces.push({ bytes, start: at, end });
  }

  /** None of this happened. */
  undo(): void {
    const { keyspace } = this.options;
    for (const change of this.changes.reverse()) undoChange(keyspace, change);
    this.packed.undo(keyspace);
  }

  #set(slot: number, place: Readonly<KeyPlace>, version: number): void {
    const { keyspace, sequence } = this.options;
    const key = place.bytes.toString('latin1', place.keyStart, place.keyEnd);
    const { value, expiresAt } = readString(place);
    const after = new Entry<KeyValue>(value, version, expiresAt, sequence);
    const before = keyspace.set(slot, key, after);
    this.changes.push({ slot, key, before, after });
    this.positions.push(this.#count);
  }

  /** All entries, in their order. */
  takePieces(): Buffer[] {
    return this.#pieces.splice(0).map(({ bytes, start, end }) => bytes.subarray(start, end));
  }
}
