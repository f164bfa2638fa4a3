import {
  type Append,
  type EntryLocation,
  EntryType,
  encodeObject,
  encodeTombstone,
  type Log,
  type LogCleaner,
  type LogEntry,
} from '@rdmc/tailwind';
import type { Lease } from '@rdmc/tailwind/coordinator';
import type { Action, Result } from '../checker/history.js';
import { apply } from '../checker/register.js';

/** The segment of a tombstone for an object without a location yet: the log keeps such a tombstone for good. */
const NO_SEGMENT = 2n ** 64n - 1n;

/** The value of a key, and the append that wrote it. */
export interface Held {
  readonly value: string;
  readonly version: number;
  readonly place: { append?: Append; index: number; location?: EntryLocation };
}

/** Thrown before anything was appended. */
export class CertainRefusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * A minimal key-value store over one log: a write is in the index when it is appended, and answered when it is
 * acknowledged. A read is answered when the value it read is acknowledged, under a valid lease.
 */
export class KeyValues {
  readonly index = new Map<string, Held>();
  #log: Log | undefined;
  #lease: Lease | undefined;
  /** The last write of each key. A read of the key waits for it; reads of other keys do not. */
  readonly #last = new Map<string, Promise<unknown>>();
  version = 0;

  get log(): Log | undefined {
    return this.#log;
  }

  serve(log: Log, lease: Lease): void {
    this.#log = log;
    this.#lease = lease;
  }

  cleaner(): LogCleaner {
    return {
      isLive: ({ payload }, location) => {
        const held = this.index.get(keyOf(payload));
        return held !== undefined && isSame(placeOf(held), location);
      },
      moved: ({ payload }, from, to) => {
        const held = this.index.get(keyOf(payload));
        if (held && isSame(placeOf(held), from)) held.place.location = to;
      },
    };
  }

  /** @throws CertainRefusal; after any other error the outcome is unknown */
  async apply(key: string, action: Action): Promise<Result> {
    const { log, lease } = this.#serving();
    const before = this.index.get(key)?.value ?? null;
    const { state, result } = apply(before, action);
    if (action.kind !== 'get' && (state !== before || action.kind === 'set')) {
      await this.#append(log, [{ key, value: state }]).acknowledged;
      return result;
    }
    await this.#last.get(key);
    lease.assertValid();
    if (log.signal.aborted) throw log.signal.reason;
    return result;
  }

  async applyTogether(keys: readonly string[], values: readonly string[]): Promise<Result> {
    const { log } = this.#serving();
    await this.#append(
      log,
      keys.map((key, index) => ({ key, value: values[index]! })),
    ).acknowledged;
    return 'OK';
  }

  /** Appends the whole index, which was built from a recovered log. */
  async replayInto(log: Log): Promise<void> {
    const all = [...this.index].map(([key, { value }]) => ({ key, value }));
    await Promise.all(all.map((change) => this.#append(log, [change]).acknowledged));
  }

  #serving(): { log: Log; lease: Lease } {
    const [log, lease] = [this.#log, this.#lease];
    if (!log || !lease) throw new CertainRefusal('NOT_PRIMARY', 'this member is not the primary of a log');
    if (log.signal.aborted) throw new CertainRefusal('NOT_PRIMARY', String(log.signal.reason));
    return { log, lease };
  }

  #append(log: Log, changes: readonly { key: string; value: string | null }[]): Append {
    const entries = changes.map((change, index) =>
      this.#entry(change.key, change.value, this.version + 1 + index),
    );
    let append: Append;
    try {
      append = log.append(...entries);
    } catch (error) {
      const { code = 'UNKNOWN', message } = error as Error & { code?: string };
      throw new CertainRefusal(code, message);
    }
    for (const [index, { key, value }] of changes.entries()) {
      this.version += 1;
      const before = this.index.get(key);
      const location = before && placeOf(before);
      if (location) log.dead(location);
      if (value === null) this.index.delete(key);
      else this.index.set(key, { value, version: this.version, place: { append, index } });
      this.#last.set(key, append.acknowledged);
    }
    append.acknowledged.catch(() => {});
    return append;
  }

  #entry(key: string, value: string | null, version: number): LogEntry {
    if (value !== null) {
      return { type: EntryType.OBJECT, parts: encodeObject(version, Buffer.from(key), Buffer.from(value)) };
    }
    const held = this.index.get(key);
    const segmentId = (held && placeOf(held)?.segmentId) ?? NO_SEGMENT;
    return { type: EntryType.TOMBSTONE, parts: encodeTombstone(version, segmentId, Buffer.from(key)) };
  }
}

function placeOf({ place }: Held): EntryLocation | undefined {
  return place.location ?? place.append?.locations?.[place.index];
}

function isSame(a: EntryLocation | undefined, b: EntryLocation): boolean {
  return a?.segmentId === b.segmentId && a.offset === b.offset;
}

/** An object's payload: u64 version, u32 length of the key, key, value. */
function keyOf(payload: Uint8Array): string {
  const view = new DataView(payload.buffer, payload.byteOffset);
  return Buffer.from(payload.subarray(12, 12 + view.getUint32(8, true))).toString();
}
