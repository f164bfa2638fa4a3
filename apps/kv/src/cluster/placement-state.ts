/**
 * What the coordinator keeps beside the logs' records, in the same store, as JSON. Which log has a slot:
 *
 * ```
 * kv/slots              [[from, to, log], …]     at the cluster's first start; never changed
 * kv/takeover/<log>     [[from, to, heir], …]    whose slots <log>'s are once its record says 'recovered'
 * kv/last               17                       the last number of a slot table or of a takeover, in any run
 * ```
 *
 * So the step that ends a log's recovery is also the one that gives its slots away: there is no moment in between.
 */

import { list, readShape, text, tuple, whole } from '@rdmc/common/shapes';
import type { LogRecord, StateStore } from '@rdmc/tailwind/coordinator';
import { SLOTS } from '../limits.js';

export type LogRange = readonly [from: number, to: number, logId: string];

const SLOTS_KEY = 'kv/slots';
const LAST_KEY = 'kv/last';
const TAKEOVER_PREFIX = 'kv/takeover/';
const rangesText = list(tuple(whole(), whole(), text()));

export class PlacementState {
  constructor(private readonly store: StateStore) {}

  /** The first layout is made once; whoever comes later gets that. */
  async initial(make: () => readonly LogRange[]): Promise<readonly LogRange[]> {
    const stored = await this.store.get(SLOTS_KEY);
    if (stored) return readShape(rangesText, JSON.parse(stored.value));
    const ranges = make();
    await this.store.put(SLOTS_KEY, JSON.stringify(ranges), 0);
    return ranges;
  }

  /** The log that has each slot; undefined where slots were never given out. */
  async storedOwners(logs: readonly LogRecord[]): Promise<string[] | undefined> {
    const stored = await this.store.get(SLOTS_KEY);
    return stored && this.owners(readShape(rangesText, JSON.parse(stored.value)), logs);
  }

  /** A number above all before, also those of earlier runs: durable before it is used. */
  async next(): Promise<number> {
    const stored = await this.store.get(LAST_KEY);
    const next = (stored ? readShape(whole(0), JSON.parse(stored.value)) : 0) + 1;
    await this.store.put(LAST_KEY, JSON.stringify(next), stored?.revision ?? 0);
    return next;
  }

  /** Durable before the recovery that may make it true begins. */
  async plan(logId: string, ranges: readonly LogRange[]): Promise<void> {
    const key = `${TAKEOVER_PREFIX}${logId}`;
    const revision = (await this.store.get(key))?.revision ?? 0;
    await this.store.put(key, JSON.stringify(ranges), revision);
  }

  /** The log that has each slot, after all recoveries that ended. */
  async owners(initial: readonly LogRange[], logs: readonly LogRecord[]): Promise<string[]> {
    const recovered = new Set(
      logs.filter(({ state }) => state === 'recovered').map(({ logId }) => String(logId)),
    );
    const plans = new Map<string, string[]>();
    for (const [key, { value }] of await this.store.list(TAKEOVER_PREFIX)) {
      plans.set(key.slice(TAKEOVER_PREFIX.length), bySlot(readShape(rangesText, JSON.parse(value))));
    }
    return bySlot(initial).map((first, slot) => {
      let logId = first;
      for (
        let heir = plans.get(logId)?.[slot];
        heir && recovered.has(logId);
        heir = plans.get(logId)?.[slot]
      ) {
        logId = heir;
      }
      return logId;
    });
  }
}

function bySlot(ranges: readonly LogRange[]): string[] {
  const owners: string[] = new Array(SLOTS).fill('');
  for (const [from, to, logId] of ranges) owners.fill(logId, from, to + 1);
  return owners;
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
