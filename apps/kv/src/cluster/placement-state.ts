/**
 * The coordinator's records beside those of the logs, in the same store, as JSON. The tenure of each slot:
 *
 * ```
 * kv/slots              [[from, to, log, epoch, floor], …]     changed where slots are handed over
 * kv/takeover/<log>     [[from, to, heir, epoch, floor], …]    the tenures of <log>'s slots once its record says 'recovered'; [] when
 *                                                              kv/slots has them, or later ones
 * kv/drained            [3, …]                                       servers that are to go
 * kv/moving             true                                   slots are to move until each server has its share
 * kv/removed            [3, …]                                       servers that have gone for good
 * kv/last               17                                     no number of a slot table, takeover or hand-over is above it, in any run
 * ```
 *
 * Epoch and floor are left out where both are 0. So the step that ends a log's recovery is also the one that gives its slots
 * away: there is no moment in between.
 */
import { SerialQueue } from '@rdmc/common';
import { either, flag, list, mapped, readShape, text, tuple, whole } from '@rdmc/common/shapes';
import type { LogRecord, StateStore } from '@rdmc/tailwind/coordinator';
import { codeOf, KvError } from '../errors.js';
import { type Outcome, outcomeOf, renewed, replaced } from '../handover/handover-rules.js';
import { NUMBERS_AT_ONCE, SLOTS } from '../limits.js';
import { type Tenure, type TenureRange, tenureRanges } from './tenure.js';

const SLOTS_KEY = 'kv/slots';
const LAST_KEY = 'kv/last';
const DRAINED_KEY = 'kv/drained';
const REMOVED_KEY = 'kv/removed';
const MOVING_KEY = 'kv/moving';
const TAKEOVER_PREFIX = 'kv/takeover/';
/** A store does not remove keys. */
const FOLDED = '[]';
const firstTenure = mapped(
  tuple(whole(), whole(), text()),
  ([from, to, logId]): TenureRange => [from, to, logId, 0, 0],
);
const rangesText = list(either(tuple(whole(), whole(), text(), whole(0), whole(0)), firstTenure));

/** Slots that get another log. */
export interface Commit {
  readonly slots: readonly number[];
  /** Of each slot, in the order of the slots: the epoch that is replaced. */
  readonly epochs: readonly number[];
  readonly source: string;
  readonly target: string;
  readonly floor: number;
}

interface Known {
  /** The stored layout. */
  readonly slots: string;
  /** The takeovers that have ended, with their plans. */
  readonly takeovers: string;
  readonly tenures: readonly Tenure[];
}

/** All logs that were ever created. */
type LogRecords = () => Promise<readonly LogRecord[]>;

export class PlacementState {
  /** A plan of a takeover and a change of tenures do not come between the look of the other one and its write. */
  readonly #changes = new SerialQueue();
  readonly #numbers = new SerialQueue();
  /** The last number, and the last one that is reserved durably: a hand-over needs several, and slots wait for them. */
  #last = 0;
  #reserved = 0;
  /** The last tenures that were read or written, and what they are made of: a hand-over needs them several times. */
  #known: Known | undefined;
  #isMoving: boolean | undefined;

  constructor(private readonly store: StateStore) {}

  /** The first layout is made once; whoever comes later gets that. */
  async initial(make: () => readonly TenureRange[]): Promise<readonly TenureRange[]> {
    const stored = await this.store.get(SLOTS_KEY);
    if (stored) return read(stored.value);
    const ranges = make();
    await this.store.put(SLOTS_KEY, textOf(ranges), 0);
    return ranges;
  }

  /** The tenure of each slot; undefined where slots were never given out. */
  async storedTenures(logs: readonly LogRecord[]): Promise<readonly Tenure[] | undefined> {
    const stored = await this.store.get(SLOTS_KEY);
    return stored && (await this.#read(stored.value, logs)).tenures;
  }

  async #read(slots: string, logs: readonly LogRecord[]): Promise<Known> {
    const recovered = recoveredOf(logs);
    const plans = recovered.size === 0 ? new Map() : await this.store.list(TAKEOVER_PREFIX);
    const takeovers = JSON.stringify([[...recovered], ...plans]);
    if (this.#known?.slots !== slots || this.#known.takeovers !== takeovers) {
      this.#known = { slots, takeovers, tenures: tenuresOf(read(slots), recovered, plans) };
    }
    return this.#known;
  }

  /**
   * A number above all before, also those of earlier runs: durable before it is used.
   * @param more how many of the following numbers become durable with it, so that they do not wait for the store
   */
  next(more = 0): Promise<number> {
    return this.#numbers.run(async () => {
      if (this.#reserved - this.#last <= more) await this.#reserve();
      this.#last += 1;
      return this.#last;
    });
  }

  async #reserve(): Promise<void> {
    const stored = await this.store.get(LAST_KEY);
    const last = stored ? readShape(whole(0), JSON.parse(stored.value)) : 0;
    await this.store.put(LAST_KEY, JSON.stringify(last + NUMBERS_AT_ONCE), stored?.revision ?? 0);
    this.#last = last;
    this.#reserved = last + NUMBERS_AT_ONCE;
  }

  /** Whether a re-balancing has begun and has not come to its end, maybe in an earlier run. */
  async moving(): Promise<boolean> {
    if (this.#isMoving === undefined) {
      const stored = await this.store.get(MOVING_KEY);
      this.#isMoving = stored !== undefined && readShape(flag, JSON.parse(stored.value));
    }
    return this.#isMoving;
  }

  async setMoving(isMoving: boolean): Promise<void> {
    if ((await this.moving()) === isMoving) return;
    const revision = (await this.store.get(MOVING_KEY))?.revision ?? 0;
    await this.store.put(MOVING_KEY, JSON.stringify(isMoving), revision);
    this.#isMoving = isMoving;
  }

  /** Servers that are to go. */
  drained(): Promise<readonly number[]> {
    return this.#members(DRAINED_KEY);
  }

  setDrained(members: readonly number[]): Promise<void> {
    return this.#setMembers(DRAINED_KEY, members);
  }

  /** Servers that an operator has removed, and that may have come back since. */
  removed(): Promise<readonly number[]> {
    return this.#members(REMOVED_KEY);
  }

  async addRemoved(member: number): Promise<void> {
    const removed = await this.removed();
    if (!removed.includes(member)) await this.#setMembers(REMOVED_KEY, [...removed, member]);
  }

  async #members(key: string): Promise<readonly number[]> {
    const stored = await this.store.get(key);
    return stored ? readShape(list(whole()), JSON.parse(stored.value)) : [];
  }

  async #setMembers(key: string, members: readonly number[]): Promise<void> {
    const revision = (await this.store.get(key))?.revision ?? 0;
    await this.store.put(key, JSON.stringify(members), revision);
  }

  /** The tenures with a number: it is above the epochs of all hand-overs that they have, and below those of all others. */
  numbered(logs: LogRecords): Promise<{ epoch: number; tenures: readonly Tenure[] }> {
    return this.#changes.run(async () => {
      const epoch = await this.next();
      return { epoch, tenures: (await this.storedTenures(await logs())) ?? [] };
    });
  }

  /**
   * Slots get another log. Resolves with the epoch of their new records, which are durable then.
   * @throws KvError ERR_RDMC_KV_HANDOVER_FAILED: a record has another epoch, or one of the logs was declared dead
   */
  commit(commit: Commit, logs: LogRecords): Promise<number> {
    const { slots, epochs, source, target, floor } = commit;
    return this.#changes.run(async () => {
      const epoch = await this.next();
      const next = { logId: target, epoch, floor };
      await this.#change(logs, (tenures, records) => {
        requireLive(records, [source, target]);
        for (const [index, slot] of slots.entries()) {
          tenures[slot] = replaced(tenures[slot]!, { slot, expected: epochs[index]!, next });
        }
        return true;
      });
      return epoch;
    });
  }

  /**
   * A hand-over will not happen: slots that are still the source's get new epochs. Resolves with what has become of it, durably;
   * tables above the epoch have that.
   */
  keep(
    slots: readonly number[],
    source: string,
    logs: LogRecords,
  ): Promise<{ outcome: Outcome; epoch: number }> {
    return this.#changes.run(async () => {
      const epoch = await this.next();
      let outcome: Outcome = 'moved';
      await this.#change(logs, (tenures) => {
        outcome = outcomeOf(
          slots.map((slot) => tenures[slot]!),
          source,
        );
        if (outcome === 'kept') for (const slot of slots) tenures[slot] = renewed(tenures[slot]!, epoch);
        return outcome === 'kept';
      });
      return { outcome, epoch };
    });
  }

  async #requireLog(logId: string, ranges: Parameters<PlacementState['requireLog']>[1], logs: LogRecords) {
    const tenures = (await this.storedTenures(await logs())) ?? [];
    const left = new Set(tenures.flatMap((tenure, slot) => (tenure.logId === logId ? [slot] : [])));
    for (const [from, to] of ranges) {
      const other = tenures.slice(from, to + 1).find((tenure) => tenure.logId !== logId);
      if (other) throw handedOver(logId, other);
      for (let slot = from; slot <= to; slot += 1) left.delete(slot);
    }
    if (left.size > 0) throw gotMore(logId, left.size);
  }

  /** Repeated where another process has changed the records first: then the rules look at those. */
  async #change(
    logs: LogRecords,
    change: (tenures: Tenure[], records: readonly LogRecord[]) => boolean,
  ): Promise<void> {
    for (;;) {
      const stored = await this.store.get(SLOTS_KEY);
      if (!stored) throw new KvError('ERR_RDMC_KV_HANDOVER_FAILED', 'slots were never given out');
      const records = await logs();
      const { takeovers, ...before } = await this.#read(stored.value, records);
      const tenures = [...before.tenures];
      if (!change(tenures, records)) return;
      const slots = textOf(tenureRanges(tenures));
      try {
        await this.store.put(SLOTS_KEY, slots, stored.revision);
        this.#known = { slots, takeovers, tenures };
        return;
      } catch (error) {
        if (codeOf(error) !== 'ERR_RDMC_STATE_CONFLICT') throw error;
      }
    }
  }

  /**
   * The slots are those of a log that was declared dead, and all of them: no hand-over gives any away, or others to it, any more.
   * A slot that its takeover left out would never have an owner again.
   * @throws KvError ERR_RDMC_KV_TAKEOVER_FAILED: a slot belongs to another log by now, or the log has got more of them
   */
  requireLog(
    logId: string,
    ranges: readonly (readonly [from: number, to: number, ...unknown[]])[],
    logs: LogRecords,
  ): Promise<void> {
    return this.#changes.run(() => this.#requireLog(logId, ranges, logs));
  }

  /** Durable before the recovery that may make it true ends. @throws as `requireLog` */
  plan(logId: string, ranges: readonly TenureRange[], logs: LogRecords): Promise<void> {
    return this.#changes.run(async () => {
      await this.#requireLog(logId, ranges, logs);
      const key = `${TAKEOVER_PREFIX}${logId}`;
      const revision = (await this.store.get(key))?.revision ?? 0;
      await this.store.put(key, textOf(ranges), revision);
    });
  }

  /**
   * Writes the layout that recoveries have led to, and empties the plans that it does not need any more. Otherwise the state would
   * grow with each recovery: a file of it is written as a whole at each change, also while slots are stopped for a hand-over.
   */
  fold(logs: LogRecords): Promise<void> {
    return this.#changes.run(async () => {
      const records = await logs();
      const recovered = recoveredOf(records);
      if (recovered.size === 0 || !(await this.store.get(SLOTS_KEY))) return;
      const plans = [...(await this.store.list(TAKEOVER_PREFIX))].filter(
        ([key, { value }]) => value !== FOLDED && recovered.has(logOf(key)),
      );
      if (plans.length === 0) return;
      await this.#change(
        async () => records,
        () => true,
      );
      for (const [key, { revision }] of plans) await this.store.put(key, FOLDED, revision);
    });
  }

  /** The tenure of each slot, after all recoveries that ended. */
  async tenures(initial: readonly TenureRange[], logs: readonly LogRecord[]): Promise<readonly Tenure[]> {
    return (await this.#read(textOf(initial), logs)).tenures;
  }
}

/** The log of a plan's key. */
function logOf(key: string): string {
  return key.slice(TAKEOVER_PREFIX.length);
}

function recoveredOf(logs: readonly LogRecord[]): ReadonlySet<string> {
  return new Set(logs.filter(({ state }) => state === 'recovered').map(({ logId }) => String(logId)));
}

function tenuresOf(
  slots: readonly TenureRange[],
  recovered: ReadonlySet<string>,
  takeovers: ReadonlyMap<string, { readonly value: string }>,
): Tenure[] {
  const plans = new Map<string, (Tenure | undefined)[]>();
  for (const [key, { value }] of takeovers) {
    const logId = logOf(key);
    if (recovered.has(logId)) plans.set(logId, bySlot(read(value)));
  }
  const tenures = bySlot(slots);
  for (let slot = 0; slot < tenures.length; slot += 1) {
    let tenure = tenures[slot] ?? NOBODYS;
    for (let heir: Tenure | undefined = tenure; heir; heir = plans.get(tenure.logId)?.[slot]) tenure = heir;
    tenures[slot] = tenure;
  }
  return tenures as Tenure[];
}

const NOBODYS: Tenure = { logId: '', epoch: 0, floor: 0 };

function read(value: string): readonly TenureRange[] {
  return readShape(rangesText, JSON.parse(value));
}

function textOf(ranges: readonly TenureRange[]): string {
  return JSON.stringify(
    ranges.map((range) => (range[3] === 0 && range[4] === 0 ? range.slice(0, 3) : range)),
  );
}

function bySlot(ranges: readonly TenureRange[]): (Tenure | undefined)[] {
  const tenures: (Tenure | undefined)[] = new Array(SLOTS).fill(undefined);
  for (const [from, to, logId, epoch, floor] of ranges) tenures.fill({ logId, epoch, floor }, from, to + 1);
  return tenures;
}

function requireLive(records: readonly LogRecord[], logIds: readonly string[]): void {
  for (const logId of logIds) {
    const record = records.find((each) => String(each.logId) === logId);
    if (record?.state === 'live') continue;
    throw new KvError('ERR_RDMC_KV_HANDOVER_FAILED', `log ${logId} was declared dead`);
  }
}

function handedOver(logId: string, other: Tenure): KvError {
  return new KvError(
    'ERR_RDMC_KV_TAKEOVER_FAILED',
    `a slot of log ${logId} belongs to log ${other.logId} by now: another takeover follows`,
  );
}

function gotMore(logId: string, count: number): KvError {
  return new KvError(
    'ERR_RDMC_KV_TAKEOVER_FAILED',
    `log ${logId} got ${count} slots that the takeover does not have: another takeover follows`,
  );
}

export function allSlots(): number[] {
  return Array.from({ length: SLOTS }, (_, slot) => slot);
}

/** Neighbouring slots that are in the list, as ranges. */
export function rangesOfSlots(slots: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const slot of slots) {
    const last = ranges.at(-1);
    if (last && last[1] === slot - 1) last[1] = slot;
    else ranges.push([slot, slot]);
  }
  return ranges;
}

/** Cuts a list into as many parts as there are takers, of the same size up to one. */
export function shareOut<T, U>(items: readonly T[], takers: readonly U[]): [U, T[]][] {
  return takers.map((taker, index) => {
    const from = Math.floor((items.length * index) / takers.length);
    const to = Math.floor((items.length * (index + 1)) / takers.length);
    return [taker, items.slice(from, to)];
  });
}
