/**
 * The order of cleaning, as a model: a primary appends, opens new heads and cleans, one effect at one backup at a
 * time. It may die after each effect, with up to r − 1 backups. The segments that `planRecovery` then finds must hold
 * the newest acknowledged version of every key. The tests also show that every wrong order fails.
 */

import { encodeDigest, type InventoryEntry, planRecovery } from '@rdmc/tailwind/format';
import { Random } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const BACKUPS = [1, 2, 3, 4];
const REPLICAS = 2;
const KEYS = 4;

type Order =
  | 'right'
  | 'frees before the digest'
  | 'frees before the old head is closed'
  | 'names open survivors';

interface Entry {
  readonly key: number;
  readonly version: number;
}

interface Replica {
  state: 'open' | 'closed';
  readonly entries: Entry[];
}

interface Segment {
  readonly id: bigint;
  readonly survivor: boolean;
  readonly digest: readonly bigint[] | undefined;
  readonly replicas: Map<number, Replica>;
  readonly entries: Entry[];
}

class Model {
  readonly segments = new Map<bigint, Segment>();
  readonly acknowledged = new Map<number, number>();
  #lastId = 0n;
  #version = 0;
  #named: Segment[] = [];
  #head!: Segment;
  #pending: { cleaned: Segment[]; survivor: Segment } | undefined;

  constructor(
    private readonly random: Random,
    private readonly order: Order,
  ) {}

  /** Each step is one effect at one backup. */
  *run(): Generator<void, void> {
    this.#head = yield* this.#open(false, [1n]);
    this.#named = [this.#head];
    for (;;) {
      const choice = this.random.fraction();
      if (choice < 0.6) yield* this.#append();
      else if (choice < 0.8 || this.#pending) yield* this.#rotate();
      else yield* this.#clean();
    }
  }

  *#append(): Generator<void, void> {
    this.#version += 1;
    const entry = { key: Math.floor(this.random.fraction() * KEYS), version: this.#version };
    this.#head.entries.push(entry);
    for (const replica of this.#head.replicas.values()) {
      replica.entries.push(entry);
      yield;
    }
    this.acknowledged.set(entry.key, entry.version);
  }

  *#rotate(): Generator<void, void> {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending) {
      this.#named = [...this.#named.filter((one) => !pending.cleaned.includes(one)), pending.survivor];
    }
    const id = this.#lastId + 1n;
    const names = [...this.#named.map((segment) => segment.id), id].sort((a, b) => (a < b ? -1 : 1));
    const next = yield* this.#open(false, names);
    this.#named.push(next);
    if (pending && this.order === 'frees before the old head is closed') yield* this.#free(pending.cleaned);
    yield* this.#close(this.#head);
    this.#head = next;
    if (pending && this.order === 'names open survivors') yield* this.#close(pending.survivor);
    if (pending) yield* this.#free(pending.cleaned);
  }

  *#clean(): Generator<void, void> {
    const cleaned = this.#named.filter((segment) => segment !== this.#head && this.random.fraction() < 0.7);
    if (cleaned.length === 0) return;
    const live = cleaned.flatMap(({ entries }) => entries.filter((entry) => this.#isLive(entry)));
    const survivor = yield* this.#open(true, undefined);
    survivor.entries.push(...live);
    for (const replica of survivor.replicas.values()) {
      replica.entries.push(...live);
      yield;
    }
    if (this.order !== 'names open survivors') yield* this.#close(survivor);
    this.#pending = { cleaned, survivor };
    if (this.order === 'frees before the digest') yield* this.#free(cleaned);
  }

  #isLive({ key, version }: Entry): boolean {
    return ![...this.segments.values()].some(({ entries }) =>
      entries.some((other) => other.key === key && other.version > version),
    );
  }

  *#open(survivor: boolean, digest: readonly bigint[] | undefined): Generator<void, Segment> {
    this.#lastId += 1n;
    const segment: Segment = { id: this.#lastId, survivor, digest, replicas: new Map(), entries: [] };
    this.segments.set(segment.id, segment);
    const members = [...BACKUPS].sort(() => this.random.fraction() - 0.5).slice(0, REPLICAS);
    for (const member of members) {
      segment.replicas.set(member, { state: 'open', entries: [] });
      yield;
    }
    return segment;
  }

  *#close({ replicas }: Segment): Generator<void, void> {
    for (const replica of replicas.values()) {
      replica.state = 'closed';
      yield;
    }
  }

  *#free(cleaned: readonly Segment[]): Generator<void, void> {
    for (const { replicas } of cleaned) {
      for (const member of [...replicas.keys()]) {
        replicas.delete(member);
        yield;
      }
    }
  }

  /** The inventory of the remaining backup, for the model's replicas. */
  inventory(member: number): InventoryEntry[] {
    const found: InventoryEntry[] = [];
    for (const { id, survivor, digest, replicas } of this.segments.values()) {
      const replica = replicas.get(member);
      if (!replica) continue;
      const { state, entries } = replica;
      const length = 100 + entries.length;
      const scan = { status: 'ok', offset: length, checksum: 1, reason: 'zero-type' } as const;
      found.push({
        segmentId: id,
        incarnation: 1,
        epoch: 1,
        state,
        survivor,
        byteLength: length,
        checksum: 1,
        scan: state === 'open' ? scan : null,
        digest: state === 'open' && digest ? Buffer.from(encodeDigest(digest)).toString('base64') : null,
      });
    }
    return found;
  }
}

/** Throws when an acknowledged version is not found. */
function check(model: Model, lost: number): void {
  const inventories = BACKUPS.filter((member) => member !== lost).map((member) => {
    return { member, replicas: model.inventory(member) };
  });
  if (model.acknowledged.size === 0) return;
  const { segments } = planRecovery(1n, inventories, { segmentId: 0n, epoch: 0 });
  const newest = new Map<number, number>();
  for (const { segmentId, candidates } of segments) {
    for (const { key, version } of model.segments.get(segmentId)!.replicas.get(candidates[0]!)!.entries) {
      newest.set(key, Math.max(version, newest.get(key) ?? 0));
    }
  }
  for (const [key, version] of model.acknowledged) {
    if ((newest.get(key) ?? 0) < version)
      throw new Error(`key ${key}: ${newest.get(key)} instead of ${version}`);
  }
}

function survives(order: Order, runs: number): void {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 250 }), (seed, steps) => {
      const model = new Model(new Random(seed), order);
      const primary = model.run();
      for (let step = 0; step < steps; step += 1) primary.next();
      for (const lost of [0, ...BACKUPS]) check(model, lost);
    }),
    { numRuns: runs, seed: 6 },
  );
}

describe('a recovery at any moment of a cleaning', () => {
  it('finds the newest acknowledged version of every key', () => {
    survives('right', 3000);
  });

  it.each<Order>(['frees before the digest', 'frees before the old head is closed', 'names open survivors'])(
    'would not, if the cleaner %s',
    (order) => {
      expect(() => survives(order, 3000)).toThrow();
    },
  );
});
