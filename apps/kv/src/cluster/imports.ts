import { Buffer } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { KvError } from '../errors.js';
import { TAKEOVER_FRAME_BYTES } from '../limits.js';
import { decodeRecord, type KeyRecord } from '../store/record.js';
import { slotOf } from '../store/slot.js';
import type { Store } from '../store/store.js';
import { recordsIn } from './peer-frames.js';

/** What arrived of one takeover: of every key the latest, removals too. */
interface Import {
  frames: number;
  readonly latest: Map<string, KeyRecord & { slot: number }>;
  changed: () => void;
}

/** Keys of a dead server's log, which this server makes its own. They are served only when the slot table says so. */
export class Imports {
  readonly #imports = new Map<number, Import>();
  /** Given up: what still comes of them is not kept. */
  readonly #abandoned = new Set<number>();

  constructor(private readonly store: Store) {}

  /** A frame of entries, in the log's order or any other. @throws KvError, TailwindError for what is none */
  take(frame: Buffer): void {
    const takeover = frame.readUInt32LE(0);
    if (this.#abandoned.has(takeover)) return;
    const found = this.#of(takeover);
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
    if (this.#abandoned.has(takeover)) throw abandoned(takeover);
    const found = this.#of(takeover);
    while (found.frames < frames) {
      await new Promise<void>((resolve, reject) => {
        found.changed = resolve;
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      this.#check(takeover);
    }
    let count = 0;
    for (const [key, { slot, version, value, expiresAt }] of found.latest) {
      this.store.raiseVersion(version);
      if (value === undefined) continue;
      // A version of this log's own: an attempt that was given up may have left a removal of the key here, which is
      // newer than the dead log's version and would win when this log is recovered.
      this.store.put(slot, key, value, expiresAt);
      count += 1;
      if (this.store.batchBytes < TAKEOVER_FRAME_BYTES) continue;
      await this.#commit();
      await turn();
      this.#check(takeover);
    }
    await this.#commit();
    this.#check(takeover);
    this.#imports.delete(takeover);
    return count;
  }

  /** The takeover failed: another one begins anew, perhaps elsewhere. Resolves when nothing of it is left, durably. */
  async abandon(takeover: number, ranges: readonly (readonly [number, number])[]): Promise<void> {
    const found = this.#imports.get(takeover);
    this.#imports.delete(takeover);
    this.#abandoned.add(takeover);
    found?.changed();
    for (const [from, to] of ranges) {
      for (let slot = from; slot <= to; slot += 1) {
        for (const [key] of [...this.store.keyspace.entries(slot)]) {
          this.store.remove(slot, key);
          if (this.store.batchBytes >= TAKEOVER_FRAME_BYTES) await this.#commit();
        }
      }
    }
    await this.#commit();
  }

  #of(takeover: number): Import {
    let found = this.#imports.get(takeover);
    if (!found) {
      found = { frames: 0, latest: new Map(), changed: () => {} };
      this.#imports.set(takeover, found);
    }
    return found;
  }

  #check(takeover: number): void {
    if (!this.#imports.has(takeover)) throw abandoned(takeover);
  }

  /** Every append is waited for: the log may refuse one that waits for room, and take a later one. */
  async #commit(): Promise<void> {
    if (this.store.batchBytes === 0) return;
    const { sequence } = this.store;
    const error = this.store.commit();
    if (error) throw error;
    await this.store.whenAcknowledged(sequence);
  }
}

function abandoned(takeover: number): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} was given up`);
}
