import type { Buffer } from 'node:buffer';
import { RESTORE_HSET_BYTES, RESTORE_HSET_FIELDS } from '../limits.js';
import { encodeCommand } from '../resp/encode.js';
import { NO_EXPIRY } from '../store/entry.js';
import { decodeRecord, fieldBytes, headBytes, type KeyRecord } from '../store/record.js';
import { recordsOf } from './sections.js';

/** The commands that make the keys of records. */
export class RestoreCommands {
  keys = 0;
  /** Keys whose time was over. */
  expired = 0;

  /** A hash has its fields behind it. Commands are made one after the other: a hash may have millions of fields. */
  *of(records: Buffer, nowMs: number): Generator<Buffer, void> {
    let hash: HashWrites | undefined;
    for (const { type, payload } of recordsOf(records)) {
      const record = decodeRecord(type, payload);
      if (record === undefined) continue;
      const { key, field, value, expiresAt } = record;
      if (field !== undefined) {
        if (hash && typeof value === 'string') yield* hash.add(field, value);
        continue;
      }
      if (hash) yield* hash.end();
      hash = undefined;
      if (!this.#lives(record, nowMs)) continue;
      if (typeof value === 'number') hash = new HashWrites(key, expiresAt);
      else if (value !== undefined) yield encodeCommand(['SET', key, value, ...until(expiresAt)]);
    }
    if (hash) yield* hash.end();
  }

  #lives({ expiresAt }: KeyRecord, nowMs: number): boolean {
    const isLive = expiresAt === NO_EXPIRY || expiresAt > nowMs;
    this.keys += Number(isLive);
    this.expired += Number(!isLive);
    return isLive;
  }
}

function until(expiresAt: number): string[] {
  return expiresAt === NO_EXPIRY ? [] : ['PXAT', String(expiresAt)];
}

/** A hash in commands that any server takes: each is one append of its log. */
class HashWrites {
  #words: string[] = [];
  #bytes: number;

  constructor(
    private readonly key: string,
    private readonly expiresAt: number,
  ) {
    this.#bytes = headBytes(key.length, NO_EXPIRY);
  }

  *add(field: string, value: string): Generator<Buffer, void> {
    const bytes = fieldBytes(this.key.length, field.length, value.length);
    const isFull = this.#words.length >= 2 * RESTORE_HSET_FIELDS || this.#bytes + bytes > RESTORE_HSET_BYTES;
    if (isFull) yield* this.#hset();
    this.#words.push(field, value);
    this.#bytes += bytes;
  }

  /** The expiry comes last: all fields are there when it takes effect, whatever was repeated before it. */
  *end(): Generator<Buffer, void> {
    yield* this.#hset();
    if (this.expiresAt !== NO_EXPIRY) yield encodeCommand(['PEXPIREAT', this.key, String(this.expiresAt)]);
  }

  *#hset(): Generator<Buffer, void> {
    if (this.#words.length > 0) yield encodeCommand(['HSET', this.key, ...this.#words]);
    this.#words = [];
    this.#bytes = 0;
  }
}
