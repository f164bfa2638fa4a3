import type { Buffer } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { Deferred, within } from '@rdmc/common';
import { codeOf, KvError, messageOf } from '../errors.js';
import { FULL_PERCENT, HANDOVER_STEP_MS, SLOTS } from '../limits.js';
import type { Store } from '../store/store.js';
import { IncomingSlots } from './incoming-slots.js';

type Ranges = readonly (readonly [from: number, to: number])[];

/** Slots that another server is about to hand over. */
export interface Announcement {
  readonly number: number;
  readonly ranges: Ranges;
  /** Of the connection that the entries come on. */
  readonly session: string;
  /** The last version of the source. */
  readonly version: number;
  /** What the source's log has of the slots. */
  readonly bytes: number;
}

/** The entries so far. */
export interface Brought {
  readonly number: number;
  readonly frames: number;
  readonly isLast: boolean;
  readonly version: number;
}

interface HandOver extends Pick<Announcement, 'number' | 'ranges' | 'session'> {
  readonly slots: IncomingSlots;
  /** Frames that were not applied yet, the first one perhaps in part. */
  readonly waiting: Buffer[];
  /** Those that were. */
  frames: number;
  /** Everything is here: from now on only the coordinator says what becomes of it. */
  isWhole: boolean;
  failure: unknown;
  changed: () => void;
}

/** The slots that other servers hand over to this one, until the slot table says whose they are. */
export class Incoming {
  readonly #handOvers = new Map<number, HandOver>();
  /** Of each slot, the last hand-over or takeover that was to bring it here: messages of earlier ones may be late. */
  readonly #last = new Float64Array(SLOTS);
  /** Hand-overs of former runs of the coordinator, likewise. */
  #overBelow = 0;

  constructor(private readonly store: Store) {
    store.subscribe({
      acknowledged() {},
      refused: (_, code, message) => this.#refused(code, message),
    });
  }

  /**
   * Slots come. Their entries in this log are of earlier tenures, and leave the index. Resolves with the last version of the log,
   * which the entries of the tenure come after; it is not below that of the source.
   * @throws KvError ERR_RDMC_KV_SERVER_FULL; ERR_RDMC_KV_HANDOVER_FAILED: it has ended meanwhile, or a later one or a takeover
   *   has begun to bring some of the slots: the entries that it brought must not be forgotten
   */
  async begin({ number, ranges, session, version, bytes }: Announcement): Promise<number> {
    const all = new Set(slotsIn(ranges));
    this.#requireLast(number, all);
    this.#requireRoom(bytes);
    this.#endWhere((each) => overlaps(each.ranges, ranges));
    for (const slot of all) this.#last[slot] = number;
    const begun: HandOver = {
      number,
      ranges,
      session,
      slots: new IncomingSlots(this.store, all),
      waiting: [],
      frames: 0,
      isWhole: false,
      failure: undefined,
      changed: () => {},
    };
    // Before the wait: a takeover may give this server the slots meanwhile, and that must end the hand-over.
    this.#handOvers.set(number, begun);
    await this.store.forget(ranges);
    if (this.#handOvers.get(number) !== begun) throw ended(number, 'it has ended here');
    this.store.raiseVersion(version);
    return this.store.lastVersion;
  }

  /** A frame of entries. Those of a hand-over that has ended are not kept. */
  take(frame: Buffer, session: string): void {
    const found = this.#handOvers.get(frame.readUInt32LE(0));
    if (found?.session !== session || found.isWhole || found.failure !== undefined) return;
    found.waiting.push(frame);
    if (found.waiting.length === 1) void this.#apply(found);
  }

  /** In steps of bounded time: commands have turns between them. */
  async #apply(found: HandOver): Promise<void> {
    while (found.waiting.length > 0 && found.failure === undefined) {
      try {
        const rest = found.slots.apply(found.waiting[0]!);
        while (!this.#step(rest)) {
          await turn();
          // Its end forgets the slots, and nothing may follow that.
          if (found.failure !== undefined) return;
        }
        found.waiting.shift();
        found.frames += 1;
      } catch (error) {
        found.failure = fullOr(error);
      }
      found.changed();
    }
  }

  /** Returns whether the frame is through. @throws what the log refuses */
  #step(rest: Iterator<void>): boolean {
    const end = performance.now() + HANDOVER_STEP_MS;
    let isThrough = false;
    do isThrough = rest.next().done === true;
    while (!isThrough && performance.now() < end);
    const error = this.store.commit();
    if (error) throw error;
    return isThrough;
  }

  /** Resolves when so many frames are in this server's log durably. @throws why they cannot be */
  async brought({ number, frames, isLast, version }: Brought, signal: AbortSignal): Promise<void> {
    const found = this.#handOvers.get(number);
    if (!found) throw ended(number, 'it has ended here');
    while (found.frames < frames && found.failure === undefined) {
      const changed = new Deferred<void>();
      found.changed = changed.resolve;
      await within(changed.promise, { signal });
    }
    if (found.failure === undefined) await this.store.settled();
    if (found.failure !== undefined) throw found.failure;
    if (this.#handOvers.get(number) !== found) throw ended(number, 'it has ended here');
    this.store.raiseVersion(version);
    found.isWhole = isLast;
  }

  /** The connection ended: what is not whole cannot become so. */
  sessionEnded(session: string): void {
    this.#endWhere((each) => each.session === session && !each.isWhole);
  }

  /** The coordinator has cancelled a hand-over. */
  async drop(number: number): Promise<void> {
    const found = this.#handOvers.get(number);
    if (!found) return;
    this.#endWhere((each) => each === found, false);
    await this.store.forget(found.ranges);
  }

  /** A takeover brings slots to this server. */
  yield(takeover: number, ranges: Ranges): void {
    for (const slot of slotsIn(ranges)) this.#last[slot] = Math.max(this.#last[slot]!, takeover);
    this.#endWhere((each) => overlaps(each.ranges, ranges), false);
  }

  /** A later hand-over or takeover has brought the slot here, or is about to: the end of an earlier hand-over must not forget it. */
  isLater(slot: number, number: number): boolean {
    return this.#last[slot]! > number;
  }

  /** A further run of the coordinator: it says itself which slots this server has, and hand-overs of former runs are over. */
  reset(below: number): void {
    this.#overBelow = Math.max(this.#overBelow, below);
    this.#endWhere(({ number }) => number < below, false);
  }

  /** The slots of the hand-over are this server's. */
  owned(isOwn: (slot: number) => boolean): void {
    for (const [number, { ranges, isWhole }] of this.#handOvers) {
      if (isWhole && isOwn(ranges[0]![0])) this.#handOvers.delete(number);
    }
  }

  #endWhere(which: (each: HandOver) => boolean, forgets = true): void {
    for (const [number, each] of this.#handOvers) {
      if (!which(each)) continue;
      this.#handOvers.delete(number);
      each.failure ??= ended(number, 'it was given up');
      each.changed();
      if (forgets) void this.store.forget(each.ranges).catch(() => {});
    }
  }

  /** The refused writes may be those of a hand-over. */
  #refused(code: string, message: string): void {
    for (const each of this.#handOvers.values()) {
      if (each.isWhole) continue;
      each.failure ??= fullOr(Object.assign(new Error(message), { code }));
      each.changed();
    }
  }

  #requireLast(number: number, slots: ReadonlySet<number>): void {
    const isOver = number < this.#overBelow || [...slots].some((slot) => this.#last[slot]! > number);
    if (isOver) throw ended(number, 'this server gets the slots another way, or has got them');
  }

  #requireRoom(bytes: number): void {
    const { liveBytes, limitBytes } = this.store.usage;
    if (liveBytes + bytes <= (limitBytes * FULL_PERCENT) / 100) return;
    throw full(
      `this server's log has ${liveBytes} bytes of at most ${limitBytes}, so ${bytes} bytes more are too many`,
    );
  }
}

function* slotsIn(ranges: Ranges): Generator<number, void> {
  for (const [from, to] of ranges) for (let slot = from; slot <= to; slot += 1) yield slot;
}

function overlaps(some: Ranges, others: Ranges): boolean {
  return some.some(([from, to]) => others.some(([first, last]) => from <= last && first <= to));
}

/** A small log keeps more than a fifth of its segments free. */
function fullOr(error: unknown): unknown {
  return codeOf(error) === 'ERR_RDMC_LOG_FULL' ? full(messageOf(error)) : error;
}

function full(why: string): KvError {
  const what = 'add a server, or start servers with more --segments';
  return new KvError('ERR_RDMC_KV_SERVER_FULL', `${why}: ${what}`);
}

function ended(number: number, how: string): KvError {
  return new KvError('ERR_RDMC_KV_HANDOVER_FAILED', `hand-over ${number} failed: ${how}`);
}
