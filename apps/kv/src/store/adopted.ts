import type { Buffer } from 'node:buffer';
import type { Change } from './changes.js';
import { Entry } from './entry.js';
import type { KeyValue } from './hash.js';
import type { Keyspace } from './keyspace.js';
import { type KeyPlace, readString, removalBytes, writeVersion } from './record.js';
import { tooLarge } from './too-large.js';

export interface AdoptedOptions {
  readonly keyspace: Keyspace;
  /** The append. */
  readonly sequence: number;
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
  readonly changes: Change[] = [];
  /** Bytes of the entries, as the log counts them. */
  bytes = 0;
  readonly #pieces: Piece[] = [];

  constructor(private readonly options: AdoptedOptions) {}

  /** The most bytes that an append may have. */
  get maxBytes(): number {
    return this.options.maxAppendBytes;
  }

  /**
   * Puts the key into the index, and its version into the entry's bytes, which must not change until the append is acknowledged.
   * @throws KvError ERR_RDMC_ENTRY_TOO_LARGE
   */
  add(slot: number, place: Readonly<KeyPlace>): void {
    const { keyspace, sequence, nextVersion, maxAppendBytes } = this.options;
    const { bytes, at, end, keyStart, keyEnd } = place;
    // A key that cannot be removed must not be stored.
    const least = Math.max(end - at, removalBytes(keyEnd - keyStart));
    if (least > maxAppendBytes) throw tooLarge(least, maxAppendBytes);
    const version = nextVersion();
    writeVersion(place, version);
    const key = bytes.toString('latin1', keyStart, keyEnd);
    const { value, expiresAt } = readString(place);
    const after = new Entry<KeyValue>(value, version, expiresAt, sequence);
    const before = keyspace.set(slot, key, after);
    this.changes.push({ slot, key, before, after });
    this.bytes += end - at;
    const last = this.#pieces.at(-1);
    if (last?.bytes === bytes && last.end === at) last.end = end;
    else this.#pieces.push({ bytes, start: at, end });
  }

  /** All entries, in their order. */
  takePieces(): Buffer[] {
    return this.#pieces.splice(0).map(({ bytes, start, end }) => bytes.subarray(start, end));
  }
}
