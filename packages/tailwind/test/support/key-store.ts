import {
  decodeObject,
  decodeTombstone,
  type EntryLocation,
  EntryType,
  encodeObject,
  encodeTombstone,
  type Log,
  type LogCleaner,
  type LogOptions,
  type Recovery,
} from '@rdmc/tailwind';
import type { SegmentEntry } from '@rdmc/tailwind/format';

/** The smallest application of a log that can be cleaned: keys and values, with an index of locations. */
export class KeyStore {
  readonly index = new Map<string, EntryLocation>();
  #log: Log | undefined;
  #version = 0;
  readonly #versions = new Map<string, number>();
  moves = 0;

  readonly cleaner: LogCleaner = {
    isLive: ({ payload }, { segmentId, offset }) => {
      const found = this.index.get(keyOf(payload));
      return found?.segmentId === segmentId && found.offset === offset;
    },
    moved: ({ payload }, _from, to) => {
      this.moves += 1;
      this.index.set(keyOf(payload), to);
    },
    needsTombstone: ({ key }) => !this.index.has(Buffer.from(key).toString()),
  };

  get options(): Partial<LogOptions> {
    return { cleaner: this.cleaner };
  }

  get log(): Log {
    return this.#log!;
  }

  set log(log: Log) {
    this.#log = log;
  }

  get(key: string): string | undefined {
    const location = this.index.get(key);
    const entry = location && this.log.entry(location);
    return entry && Buffer.from(decodeObject(entry.payload).value).toString();
  }

  /** Resolves when the write is acknowledged; throws synchronously the errors of `append`. */
  set(key: string, value: string): Promise<unknown> {
    const version = this.#next();
    const parts = encodeObject(version, Buffer.from(key), Buffer.from(value));
    const append = this.log.append({ type: EntryType.OBJECT, parts });
    this.#versions.set(key, version);
    const point = (): void => {
      if (this.#versions.get(key) === version) this.#point(key, append.locations![0]!);
      else this.log.dead(append.locations![0]!);
    };
    if (!append.locations) return append.acknowledged.then(point);
    point();
    return append.acknowledged;
  }

  delete(key: string): Promise<unknown> {
    const before = this.index.get(key);
    if (!before) return Promise.resolve();
    const version = this.#next();
    const parts = encodeTombstone(version, before.segmentId, Buffer.from(key));
    const append = this.log.append({ type: EntryType.TOMBSTONE, parts });
    this.#versions.set(key, version);
    this.index.delete(key);
    this.log.dead(before);
    return append.acknowledged;
  }

  #next(): number {
    this.#version += 1;
    return this.#version;
  }

  #point(key: string, location: EntryLocation): void {
    const before = this.index.get(key);
    if (before) this.log.dead(before);
    this.index.set(key, location);
  }
}

/** The newest object of every key, by version. */
export class NewestOfKeys {
  readonly #newest = new Map<string, { version: number; value: string | undefined }>();

  take(entries: Iterable<SegmentEntry>): void {
    for (const { type, payload } of entries) {
      if (type === EntryType.OBJECT) {
        const { key, version, value } = decodeObject(payload);
        this.#take(key, version, value);
      } else if (type === EntryType.TOMBSTONE) {
        const { key, version } = decodeTombstone(payload);
        this.#take(key, version, undefined);
      }
    }
  }

  /** Without deleted keys. */
  get values(): Map<string, string> {
    return new Map(
      [...this.#newest].flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]])),
    );
  }

  #take(bytes: Uint8Array, version: number, value: Uint8Array | undefined): void {
    const key = Buffer.from(bytes).toString();
    if (version <= (this.#newest.get(key)?.version ?? 0)) return;
    this.#newest.set(key, { version, value: value && Buffer.from(value).toString() });
  }
}

/** The values that a recovery finds. */
export async function recovered(recovery: Recovery): Promise<Map<string, string>> {
  const newest = new NewestOfKeys();
  for await (const segment of recovery.segments()) newest.take(segment.entries());
  return newest.values;
}

function keyOf(payload: Uint8Array): string {
  return Buffer.from(decodeObject(payload).key).toString();
}
