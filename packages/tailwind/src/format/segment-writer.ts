import { TailwindError } from '../errors.js';
import { Crc32 } from './crc32.js';
import { seedCrc } from './identity.js';
import {
  CHECKSUM_ENTRY_BYTES,
  CHECKSUM_PAYLOAD_BYTES,
  EntryType,
  type EntryTypeNumber,
  HEADER_BYTES,
  readU32,
  type SegmentIdentity,
  writeU32,
} from './layout.js';

/** A range of a segment that a checksum has sealed; one write sends it. */
export interface SealedGroup {
  /** First byte of the range, from the beginning of the segment. */
  readonly offset: number;
  /** Length of the range in bytes. */
  readonly byteLength: number;
}

/**
 * Writes entries into a segment's memory and seals them into groups. The memory must be zero from the
 * beginning; bytes behind `sealedBytes` may change until the next `seal`, those before it never change.
 */
export class SegmentWriter {
  readonly #crc32: Crc32;
  #position = 0;
  #sealed = 0;
  #crc: number;
  #checksum = 0;

  /** @throws TailwindError ERR_RDMC_INVALID_OPTION */
  constructor(
    private readonly bytes: Uint8Array,
    identity: SegmentIdentity,
  ) {
    this.#crc32 = new Crc32(bytes);
    this.#crc = seedCrc(identity);
  }

  /** Where the entries end, sealed or not. */
  get position(): number {
    return this.#position;
  }

  /** Where the sealed groups end. */
  get sealedBytes(): number {
    return this.#sealed;
  }

  /** The value of the last checksum; 0 before the first. */
  get checksum(): number {
    return this.#checksum;
  }

  /** Whether entries wait for a checksum. */
  get hasUnsealed(): boolean {
    return this.#position > this.#sealed;
  }

  /**
   * Whether this many entries, with this many payload bytes in total, still fit, with the checksum that closes them.
   */
  fits(payloadBytes: number, entries = 1): boolean {
    const room = this.bytes.length - this.#position - CHECKSUM_ENTRY_BYTES - entries * HEADER_BYTES;
    return payloadBytes <= room;
  }

  /**
   * Adds an entry whose payload is the concatenation of the parts. Returns the offset of its header.
   * @throws TailwindError ERR_RDMC_SEGMENT_FULL; then nothing is written
   */
  append(type: Exclude<EntryTypeNumber, typeof EntryType.CHECKSUM>, ...parts: readonly Uint8Array[]): number {
    let byteLength = 0;
    for (const part of parts) byteLength += part.length;
    if (!this.fits(byteLength)) throw this.#full(byteLength);
    const offset = this.#position;
    let end = offset + HEADER_BYTES;
    for (const part of parts) {
      this.bytes.set(part, end);
      end += part.length;
    }
    this.#header(offset, type, byteLength, this.#crc32.of(offset + HEADER_BYTES, end, 0));
    this.#position = end;
    return offset;
  }

  /**
   * Adds entries that lie one behind the other with their headers, and computes the checksums of these anew. Adds the offset of
   * each header to `offsets`.
   * @throws TailwindError ERR_RDMC_SEGMENT_FULL; then nothing is written
   */
  appendRun(run: Uint8Array, offsets: number[]): void {
    const end = this.#position + run.length;
    if (end + CHECKSUM_ENTRY_BYTES > this.bytes.length) throw this.#full(run.length);
    this.bytes.set(run, this.#position);
    for (let at = this.#position; at < end; ) {
      const byteLength = readU32(this.bytes, at + 4);
      const start = at + HEADER_BYTES;
      const type = this.bytes[at]!;
      this.#header(at, type, byteLength, this.#crc32.of(start, start + byteLength, 0));
      offsets.push(at);
      at = start + byteLength;
    }
    this.#position = end;
  }

  /** Closes the entries added since the last seal with a checksum. Undefined when there are none. */
  seal(): SealedGroup | undefined {
    if (!this.hasUnsealed) return undefined;
    const offset = this.#sealed;
    this.#header(this.#position, EntryType.CHECKSUM, CHECKSUM_PAYLOAD_BYTES, 0);
    this.#checksum = checksumValue(this.#crc);
    writeU32(this.bytes, this.#position + HEADER_BYTES, this.#checksum);
    this.#position += CHECKSUM_ENTRY_BYTES;
    this.#sealed = this.#position;
    return { offset, byteLength: this.#sealed - offset };
  }

  #full(byteLength: number): TailwindError {
    return new TailwindError(
      'ERR_RDMC_SEGMENT_FULL',
      `An entry of ${byteLength} bytes does not fit at ${this.#position} of ${this.bytes.length}`,
    );
  }

  #header(at: number, type: number, byteLength: number, dataCrc: number): void {
    const { bytes } = this;
    writeU32(bytes, at, type);
    writeU32(bytes, at + 4, byteLength);
    writeU32(bytes, at + 8, dataCrc);
    this.#crc = this.#crc32.of(at, at + HEADER_BYTES, this.#crc);
  }
}

/** The value of a checksum entry for a running CRC; it is never 0 (Tailwind, section 3.3.1). */
export function checksumValue(runningCrc: number): number {
  return runningCrc === 0 ? 1 : runningCrc;
}
