/** Which processes a cluster of a level admits, when the level is raised, and what servers learn of it. */
import { type Levels, type Subscription, subscription } from '@rdmc/common';
import { refusal } from '@rdmc/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ClusterAdmin } from '../src/admin/admin-service.js';
import { standbyId, Topic } from '../src/cluster/messages.js';
import { ClusterLevel } from '../src/upgrade/cluster-level.js';
import { LevelKeeper } from '../src/upgrade/level-keeper.js';

const [OLD, NEW, NEXT] = [range(1, 1), range(1, 2), range(2, 3)];
/** Default of the mesh. */
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const LEVEL_REFUSED = refusal('ERR_RDMC_KV_LEVEL');
const NOT_FINALIZED = refusal('ERR_RDMC_KV_NOT_FINALIZED');

function range(least: number, most: number): Levels {
  return { least, most };
}

interface Peer {
  readonly state: 'connected' | 'failed' | 'left';
  readonly levels: Levels | undefined;
  readonly incarnation: number;
}

const here = (levels: Levels): Peer => ({ state: 'connected', levels, incarnation: 1 });
const away = (state: 'failed' | 'left'): Peer => ({ state, levels: undefined, incarnation: 1 });

/** A coordinator of a cluster with these members. */
class Cluster {
  readonly peers: Map<number, Peer>;
  readonly told: unknown[] = [];
  /** Delays the durable change. */
  beforeRaise: () => Promise<void> = async () => {};
  readonly store = {
    level: 1,
    raiseLevel: async (level: number): Promise<void> => {
      await this.beforeRaise();
      this.store.level = Math.max(level, this.store.level);
    },
  };
  readonly #handlers = new Map<string, (from: number, body: unknown) => unknown>();

  constructor(peers: [number, Peer][], levels: Levels, owners: readonly number[] = []) {
    this.peers = new Map(peers);
    const orders = {
      onRequest: (topic: string, handler: (from: number, body: unknown) => unknown) => {
        this.#handlers.set(topic, handler);
        return subscription(() => this.#handlers.delete(topic));
      },
      broadcast: (topic: string, body: unknown) => {
        expect(topic).toBe(Topic.LEVEL);
        this.told.push([this.store.level, body]);
      },
    };
    const logs = async () => owners.map((owner) => ({ owner, state: 'live' as const }));
    const made = new LevelKeeper({
      mesh: { id: 0, peers: this.peers, onLeave: () => subscription(() => {}) },
      orders,
      store: this.store,
      logs,
      levels,
      waitMs: 1,
      ended: new AbortController().signal,
    });
    expect(made).toBeDefined();
  }

  async admit(member: number): Promise<unknown> {
    return this.#handlers.get(Topic.LEVEL)!(member, {});
  }

  async finalize(): Promise<unknown> {
    return this.#handlers.get(Topic.FINALIZE)!(1, {});
  }
}

describe('a coordinator', () => {
  it('admits processes that speak the level of the cluster, whatever else they speak', async () => {
    const cluster = new Cluster(
      [
        [1, here(OLD)],
        [2, here(NEW)],
        [3, here(NEXT)],
        [4, away('failed')],
      ],
      NEW,
    );
    expect(await cluster.admit(1)).toEqual({ level: 1 });
    expect(await cluster.admit(2)).toEqual({ level: 1 });
    await expect(cluster.admit(3)).rejects.toEqual(LEVEL_REFUSED);
    await expect(cluster.admit(3)).rejects.toThrow(
      'speaks levels 2 to 3, and the cluster has level 1: run kv admin finalize',
    );
    await expect(cluster.admit(4)).rejects.toEqual(refusal('ERR_RDMC_KV_MEMBER_LOST'));
    cluster.store.level = 2;
    await expect(cluster.admit(1)).rejects.toThrow(
      'speaks level 1, and the cluster has level 2: start a newer release',
    );
    expect(await cluster.admit(3)).toEqual({ level: 2 });
  });

  it('raises the level durably, and tells all', async () => {
    const cluster = new Cluster(
      [
        [1, here(NEW)],
        [2, here(NEW)],
        [9, away('left')],
      ],
      NEW,
      [1, 2],
    );
    expect(await cluster.finalize()).toEqual({ before: 1, level: 2 });
    expect(cluster.told).toEqual([[2, { level: 2 }]]);
  });

  it('that leads after the level was raised, and the answer lost, says so, and tells all again, whoever is here', async () => {
    const cluster = new Cluster(
      [
        [1, here(NEW)],
        [2, away('failed')],
      ],
      NEW,
      [1, 2],
    );
    cluster.store.level = 2;
    for (let time = 1; time <= 2; time += 1) {
      expect(await cluster.finalize()).toEqual({ before: 2, level: 2 });
      expect(cluster.told).toEqual(Array(time).fill([2, { level: 2 }]));
    }
  });

  const standby = standbyId(1);
  it.each<[string, [number, Peer][], Levels, number[], string]>([
    [
      'a server',
      [
        [1, here(NEW)],
        [2, here(OLD)],
      ],
      NEW,
      [],
      'server 2 speaks level 1',
    ],
    [
      'a lost server',
      [
        [1, here(NEW)],
        [2, away('failed')],
      ],
      NEW,
      [],
      'server 2 is not here',
    ],
    ['a server with a log that was never seen', [[1, here(NEW)]], NEW, [1, 2], 'server 2 is not here'],
    [
      'a server that left, and whose log lives',
      [
        [1, here(NEW)],
        [2, away('left')],
      ],
      NEW,
      [2],
      'server 2 is not here',
    ],
    [
      'a standby',
      [
        [1, here(NEW)],
        [standby, here(OLD)],
      ],
      NEW,
      [],
      'standby coordinator 1 speaks level 1',
    ],
    ['the coordinator itself', [[1, here(NEW)]], OLD, [], 'the coordinator speaks level 1'],
  ])('does not raise the level without %s', async (_, peers, levels, owners, why) => {
    const cluster = new Cluster(peers, levels, owners);
    await expect(cluster.finalize()).rejects.toEqual(NOT_FINALIZED);
    await expect(cluster.finalize()).rejects.toThrow(why);
    expect([cluster.store.level, cluster.told.length]).toEqual([1, 0]);
  });

  it('raises it without a standby that is not here: that one cannot open the state', async () => {
    const cluster = new Cluster(
      [
        [1, here(NEW)],
        [standby, away('failed')],
      ],
      NEW,
    );
    expect(await cluster.finalize()).toEqual({ before: 1, level: 2 });
  });

  it('admits no process between its look at the others and the new level', async () => {
    const cluster = new Cluster([[1, here(NEW)]], NEW);
    let raise: () => void = () => {};
    const raised = new Promise<void>((resolve) => {
      cluster.beforeRaise = () => {
        resolve();
        return new Promise((go) => {
          raise = go;
        });
      };
    });
    const finalized = cluster.finalize();
    await raised;
    cluster.peers.set(2, here(OLD));
    const admitted = cluster.admit(2);
    raise();
    await expect(admitted).rejects.toEqual(LEVEL_REFUSED);
    expect(await finalized).toEqual({ before: 1, level: 2 });
  });
});

it('an operator who finalizes while the coordinator ends gets the answer of the next one', async () => {
  let lost = 1;
  const request = async (topic: string): Promise<unknown> => {
    expect(topic).toBe(Topic.FINALIZE);
    lost -= 1;
    if (lost === 0) throw Object.assign(new Error('lost'), { code: 'ERR_RDMC_MESH_MEMBER_LOST' });
    return { before: 2, level: 2 };
  };
  const admin = new ClusterAdmin({ coordinator: { request } } as never);
  expect((await admin.run(['FINALIZE'])).toString()).toContain('{"before":2,"level":2}');
});

/** The coordinator's client of a server. */
class Client {
  answer: () => unknown = () => ({ level: 1 });
  lead: () => void = () => {};
  tell: (body: unknown) => void = () => {};

  readonly requests: unknown[] = [];

  async request(topic: string, body: unknown): Promise<unknown> {
    expect(topic).toBe(Topic.LEVEL);
    this.requests.push(body);
    return this.answer();
  }
  onLead(listener: () => void): Subscription {
    this.lead = listener;
    return subscription(() => {});
  }
  onMessage(topic: string, listener: (from: number, body: unknown) => void): Subscription {
    expect(topic).toBe(Topic.LEVEL);
    this.tell = (body) => listener(0, body);
    return subscription(() => {});
  }
}

async function enlisted(levels: Levels, client = new Client()) {
  const raised: number[] = [];
  const refused: unknown[] = [];
  const level = await ClusterLevel.enlist({
    coordinator: client as never,
    name: 'server 1',
    segmentBytes: 4096,
    replicas: 2,
    levels,
    onRaised: (to) => raised.push(to),
    onRefused: (error) => refused.push(error),
  });
  return { client, level, raised, refused };
}

describe('a server', () => {
  it('does not begin where it does not speak the level', async () => {
    await expect(enlisted(range(2, 3))).rejects.toEqual(LEVEL_REFUSED);
  });

  it('asks again where a busy coordinator has not answered within the longest time of a request', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const client = new Client();
    client.answer = () => {
      if (client.requests.length > 1) return { level: 1 };
      now += DEFAULT_REQUEST_TIMEOUT_MS;
      throw Object.assign(new Error('late'), { code: 'ERR_RDMC_MESH_REQUEST_TIMEOUT' });
    };
    expect((await enlisted(NEW, client)).level.value).toBe(1);
  });

  it('follows the level up, and never down', async () => {
    const { client, level, raised, refused } = await enlisted(range(1, 3));
    expect(level.value).toBe(1);
    for (const told of [2, 2, 1, 3]) client.tell({ level: told });
    expect([level.value, raised, refused]).toEqual([3, [2, 3], []]);
  });

  it('asks each coordinator that follows: it may have missed the news', async () => {
    const { client, level, raised } = await enlisted(NEW);
    client.answer = () => ({ level: 2 });
    client.lead();
    await new Promise((resolve) => setImmediate(resolve));
    expect([level.value, raised]).toEqual([2, [2]]);
    expect(client.requests).toEqual([
      { segmentBytes: 4096, replicas: 2, isRunning: false },
      { segmentBytes: 4096, replicas: 2, isRunning: true },
    ]);
  });

  it('ends where the cluster has a level that it does not speak, or its coordinator says so', async () => {
    const { client, level, refused } = await enlisted(OLD);
    client.tell({ level: 2 });
    expect(level.value).toBe(1);
    client.answer = () => {
      throw Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_LEVEL' });
    };
    client.lead();
    await new Promise((resolve) => setImmediate(resolve));
    expect(refused).toEqual([LEVEL_REFUSED, expect.objectContaining({ code: 'ERR_RDMC_KV_LEVEL' })]);
  });
});
