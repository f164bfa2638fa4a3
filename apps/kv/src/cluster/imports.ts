import { Buffer } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { KvError } from '../errors.js';
import { TAKEOVER_FRAME_BYTES } from '../limits.js';
import { decodeRecord, type KeyRecord } from '../store/record.js';
import { slotOf } from '../store/slot.js';
import type { Store } from '../store/store.js';
import { recordsIn } from './peer-frames.js';

/** Appends of imported keys on their way at once. */
const WINDOW = 4;

/** What arrived of one takeover: of every key the latest, removals too. */
interface Import {
  frames: number;
  readonly latest: Map<string, KeyRecord & { slot: number }>;
  changed: () => void;
}

/** Keys of a dead server's log, which this server makes its own. They are served only when the slot table says so. */
export class Imports {
  readonly #imports = new Map<number, Import>();

  constructor(private readonly store: Store) {}

  /** A frame of entries, in the log's order or any other. @throws KvError, TailwindError for what is none */
  take(frame: Buffer): void {
    const found = this.#of(frame.readUInt32LE(0));
    for (const { type, payload } of recordsIn(frame)) {
      const record = decodeRecord(type, payload);
      if (!record) continue;
      const known = found.latest.get(record.key);
      if (known && known.version >= record.version) continue;
      const bytes = Buffer.from(record.key, 'latin1');
      found.latest.set(record.key, { ...record, slot: slotOf(bytes, 0, bytes.length) });
    }
    found.frames += 1;
    found.changed();
  }

  /**
   * Waits for all frames, and writes what they hold into this server's log; resolves when that is durable.
   * @throws why the log cannot take it; then the takeover has failed
   */
  async finish(takeover: number, frames: number, signal: AbortSignal): Promise<number> {
    const found = this.#of(takeover);
    while (found.frames < frames) {
      await new Promise<void>((resolve, reject) => {
        found.changed = resolve;
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      if (!this.#imports.has(takeover)) throw abandoned(takeover);
    }
    let last = 0;
    let count = 0;
    for (const [key, { slot, version, value, expiresAt }] of found.latest) {
      this.store.raiseVersion(version);
      if (value === undefined) continue;
      this.store.adopt(slot, key, value, expiresAt, version);
      count += 1;
      last = this.store.sequence;
      if (this.store.batchBytes < TAKEOVER_FRAME_BYTES) continue;
      this.#commit();
      await this.store.whenAcknowledged(last - WINDOW);
      await turn();
      if (!this.#imports.has(takeover)) throw abandoned(takeover);
    }
    this.#commit();
    await this.store.whenAcknowledged(last);
    this.#imports.delete(takeover);
    return count;
  }

  /** The takeover failed: another one begins anew, perhaps elsewhere. */
  async abandon(takeover: number, ranges: readonly (readonly [number, number])[]): Promise<void> {
    const found = this.#imports.get(takeover);
    this.#imports.delete(takeover);
    found?.changed();
    for (const [from, to] of ranges) {
      for (let slot = from; slot <= to; slot += 1) {
        for (const [key] of [...this.store.keyspace.entries(slot)]) this.store.remove(slot, key);
        if (this.store.batchBytes >= TAKEOVER_FRAME_BYTES) this.#commit();
      }
    }
    const last = this.store.sequence;
    this.#commit();
    await this.store.whenAcknowledged(last === this.store.sequence ? last - 1 : last);
  }

  #of(takeover: number): Import {
    let found = this.#imports.get(takeover);
    if (!found) {
      found = { frames: 0, latest: new Map(), changed: () => {} };
      this.#imports.set(takeover, found);
    }
    return found;
  }

  #commit(): void {
    const error = this.store.commit();
    if (error) throw error;
  }
}

function abandoned(takeover: number): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} was given up`);
}
