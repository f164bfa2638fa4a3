/** The coordinator's side of `kv admin rebalance | drain | remove`, where orders come at once, and again. */
import { subscription } from '@rdmc/common';
import { expect, it } from 'vitest';
import type { ManageMessage } from '../src/cluster/messages.js';
import { Management } from '../src/handover/management.js';

const UNREACHABLE = Object.assign(new Error('out of reach'), { code: 'ERR_RDMC_STATE_UNREACHABLE' });

/** What a server without replicas says of itself. */
const FACTS = {
  log: '3',
  processId: 1,
  keys: 0,
  bytes: 0,
  logBytes: 0,
  replicas: 2,
  lease: true,
  epoch: 1,
  clients: 0,
  waitingAppends: 0,
  backup: null,
};

type Order = (from: number, body: unknown) => Promise<unknown>;

/** A coordinator with servers 1 to 4, whose logs need two backups each. */
class Cluster {
  readonly peers = new Map([1, 2, 3, 4].map((id) => [id, { state: 'connected' }]));
  drained: readonly number[] = [];
  readonly removedServers: number[] = [];
  /** Changes of the drained servers that were told. */
  changes = 0;
  /** The next write is done, and its answer does not come. */
  losesAnswer = false;
  readonly #management: Management;
  #order!: Order;

  constructor() {
    const { peers } = this;
    this.#management = new Management({
      mesh: {
        peers,
        request: async () => FACTS,
        remove: (id: number) => {
          if (!peers.delete(id)) throw new Error(`member ${id} is not another member`);
        },
      },
      orders: {
        onRequest: (_: string, handler: Order) => {
          this.#order = handler;
          return subscription(() => {});
        },
      },
      state: {
        drained: async () => this.drained,
        setDrained: async (members: readonly number[]) => {
          // As a store: another order may look meanwhile.
          await new Promise((resolve) => setImmediate(resolve));
          this.drained = members;
          if (!this.losesAnswer) return;
          this.losesAnswer = false;
          throw UNREACHABLE;
        },
        removed: async () => this.removedServers,
        addRemoved: async (id: number) => void this.removedServers.push(id),
      },
      servers: () => new Map([...peers.keys()].map((id) => [id, 2])),
      isKnown: async () => false,
      begun: Promise.resolve(),
      hasSlots: async () => false,
      onChange: () => {
        this.changes += 1;
      },
      rebalance: () => {},
    } as unknown as ConstructorParameters<typeof Management>[0]);
  }

  run(op: ManageMessage['op'], server = 0): Promise<unknown> {
    return this.#order(1, { op, server });
  }

  close(): void {
    this.#management.close();
  }
}

const refusalOf = (order: Promise<unknown>): Promise<unknown> =>
  order.then(
    () => undefined,
    (error: { code: string }) => error.code,
  );

it('orders are carried out one after the other: two at once do not drain more servers than may go', async () => {
  const cluster = new Cluster();
  const outcomes = await Promise.all([1, 2].map((server) => refusalOf(cluster.run('drain', server))));
  expect(outcomes).toEqual([undefined, 'ERR_RDMC_KV_SERVER_NEEDED']);
  expect(cluster.drained).toEqual([1]);
});

it('a drain whose write was done and not acknowledged is told to all when it is repeated', async () => {
  const cluster = new Cluster();
  for (const op of ['drain', 'undrain'] as const) {
    cluster.losesAnswer = true;
    cluster.changes = 0;
    expect(await refusalOf(cluster.run(op, 3))).toBe('ERR_RDMC_STATE_UNREACHABLE');
    expect(await cluster.run(op, 3)).toEqual({ drained: cluster.drained, isRepeated: false });
    expect(cluster.drained).toEqual(op === 'drain' ? [3] : []);
    expect(cluster.changes).toBe(1);
  }
});

it('a drain whose write was done and not acknowledged counts for the next one', async () => {
  const cluster = new Cluster();
  cluster.losesAnswer = true;
  expect(await refusalOf(cluster.run('drain', 1))).toBe('ERR_RDMC_STATE_UNREACHABLE');
  expect(await refusalOf(cluster.run('drain', 2))).toBe('ERR_RDMC_KV_SERVER_NEEDED');
});

it('a removal that was carried out in part, or wholly, is completed by another one', async () => {
  for (const isWritten of [true, false]) {
    const cluster = new Cluster();
    await cluster.run('drain', 3);
    cluster.losesAnswer = true;
    expect(await refusalOf(cluster.run('remove', 3))).toBe('ERR_RDMC_STATE_UNREACHABLE');
    if (!isWritten) cluster.drained = [3];
    const repeated = { drained: [], isRepeated: true };
    expect([await cluster.run('remove', 3), await cluster.run('remove', 3)]).toEqual([repeated, repeated]);
    expect([cluster.drained, cluster.peers.has(3)]).toEqual([[], false]);
  }
  // It never was a member.
  expect(await refusalOf(new Cluster().run('remove', 9))).toBe('ERR_RDMC_KV_INVALID_OPTION');
});

it('a server that may go is removed once, and one that is not drained is not', async () => {
  const cluster = new Cluster();
  expect(await refusalOf(cluster.run('remove', 3))).toBe('ERR_RDMC_KV_SERVER_NEEDED');
  await cluster.run('drain', 3);
  expect(await cluster.run('remove', 3)).toEqual({ drained: [], isRepeated: false });
  expect([cluster.drained, cluster.removedServers]).toEqual([[], [3]]);
});
