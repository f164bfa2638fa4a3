import { Buffer } from 'node:buffer';
import { EntryType } from '@rdmc/tailwind';
import { KvError } from '../errors.js';
import { MAX_SNAPSHOT_PAGE_BYTES, SNAPSHOT_STEP_BYTES } from '../limits.js';
import {
  fieldBytes,
  HEADER_BYTES,
  headBytes,
  objectBytes,
  writeFieldPayload,
  writeKeyPayload,
} from '../store/record.js';
import {
  encodePage,
  type Place,
  RECORD_HEADER_BYTES,
  SECTION_HEADER_BYTES,
  type Section,
  writeRecordHeader,
  writeSectionHeader,
} from './sections.js';

const MAX_SHOWN_KEY = 100;

export interface KeyFacts {
  readonly key: string;
  readonly version: number;
  /** A number is the generation of a hash. */
  readonly value: string | number;
  readonly expiresAt: number;
}

interface FieldFacts {
  readonly key: string;
  readonly field: string;
  readonly version: number;
  readonly value: string;
}

/** What the record of a key takes of a page. */
export function keyRecordBytes({ key, value, expiresAt }: KeyFacts): number {
  const entryBytes =
    typeof value === 'number'
      ? headBytes(key.length, expiresAt)
      : objectBytes(key.length, value.length, expiresAt);
  return RECORD_HEADER_BYTES + entryBytes - HEADER_BYTES;
}

/** What the record of a field takes of a page. */
export function fieldRecordBytes(keyBytes: number, nameBytes: number, valueBytes: number): number {
  return RECORD_HEADER_BYTES + fieldBytes(keyBytes, nameBytes, valueBytes) - HEADER_BYTES;
}

/** Writes a page into pieces of memory. Each method that writes returns whether a piece is full: then others should have a turn. */
export class PageWriter {
  readonly #full: Buffer[] = [];
  #fullBytes = 0;
  #piece = Buffer.allocUnsafe(SNAPSHOT_STEP_BYTES);
  #at = 0;

  constructor(private readonly maxBytes = MAX_SNAPSHOT_PAGE_BYTES) {}

  /** Begins a section. `end` is called behind its last record. */
  section(head: Omit<Section, 'records'>): { readonly isPieceFull: boolean; readonly end: () => void } {
    const isPieceFull = this.#reserve(SECTION_HEADER_BYTES);
    const [piece, at] = [this.#piece, this.#at];
    this.#at += SECTION_HEADER_BYTES;
    const begin = this.#bytes;
    const end = (): void => writeSectionHeader(piece, at, { ...head, length: this.#bytes - begin });
    return { isPieceFull, end };
  }

  key(facts: KeyFacts): boolean {
    const isPieceFull = this.#beginRecord(facts.key, keyRecordBytes(facts));
    this.#at = writeKeyPayload(this.#piece, this.#at, facts);
    return isPieceFull;
  }

  field(facts: FieldFacts): boolean {
    const { key, field, value } = facts;
    const bytes = fieldRecordBytes(key.length, field.length, value.length);
    const isPieceFull = this.#beginRecord(key, bytes);
    this.#at = writeFieldPayload(this.#piece, this.#at, facts);
    return isPieceFull;
  }

  /** The page. @param next where the next one begins */
  end(next: Place): Buffer {
    return encodePage(next, [...this.#full, this.#piece.subarray(0, this.#at)]);
  }

  get #bytes(): number {
    return this.#fullBytes + this.#at;
  }

  #beginRecord(key: string, bytes: number): boolean {
    if (this.#bytes + bytes > this.maxBytes) throw tooLarge(key, this.maxBytes);
    const isPieceFull = this.#reserve(bytes);
    writeRecordHeader(this.#piece, this.#at, EntryType.OBJECT, bytes - RECORD_HEADER_BYTES);
    this.#at += RECORD_HEADER_BYTES;
    return isPieceFull;
  }

  #reserve(bytes: number): boolean {
    if (this.#at + bytes <= this.#piece.length) return false;
    this.#full.push(this.#piece.subarray(0, this.#at));
    this.#fullBytes += this.#at;
    this.#piece = Buffer.allocUnsafe(Math.max(bytes, SNAPSHOT_STEP_BYTES));
    this.#at = 0;
    return true;
  }
}

/** Only one hash makes a page so large. */
function tooLarge(key: string, most: number): KvError {
  return new KvError(
    'ERR_RDMC_ENTRY_TOO_LARGE',
    `the hash ${JSON.stringify(key.slice(0, MAX_SHOWN_KEY))} is over the limit of ${most} bytes of a snapshot: ` +
      'divide it into several hashes',
  );
}
