import { Deferred, type Subscription, subscription } from '@rdmc/common';
/** What the coordinator does where its store, or a server, does not do as asked. */
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { Coordinator, LogRecord, StateStore } from '@rdmc/tailwind/coordinator';
import { expect, it } from 'vitest';
import {
  abandonMessage,
  resetMessage,
  Topic,
  tableMessage,
  takeoverMessage,
} from '../src/cluster/messages.js';
import { Placement, type PlacementEvents } from '../src/cluster/placement.js';
import { NOBODY } from '../src/cluster/slot-table.js';

/** A mesh with these servers, on which the test is every other member. */
class FakeMesh {
  readonly peers = new Map<number, { id: number; state: string }>();
  readonly #handlers = new Map<string, (from: number, body: unknown) => unknown>();
  #failed: (failure: { member: number; reason: string }) => void = () => {};
  /** Who was asked to take a log over. */
  readonly leaders: number[] = [];
  /** Who was asked to forget which attempt, and its slots. */
  readonly abandoned: { member: number; takeover: number; ranges: readonly [number, number][] }[] = [];
  onTakeover: (body: unknown) => void = () => {};
  /** Delays the answers of servers that are asked to forget something. */
  forgetting: (member: number) => Promise<void> = async () => {};
  takeover: (leader: number, takeover: number) => Promise<unknown> = async () => ({
    entries: 0,
    milliseconds: 0,
  });

  constructor(ids: readonly number[]) {
    for (const id of ids) this.peers.set(id, { id, state: 'connected' });
  }
  onRequest(topic: string, handler: (from: number, body: unknown) => unknown): Subscription {
    this.#handlers.set(topic, handler);
    return subscription(() => {});
  }
  onFailure(failed: (failure: { member: number; reason: string }) => void): Subscription {
    this.#failed = failed;
    return subscription(() => {});
  }
  onLeave(): Subscription {
    return subscription(() => {});
  }
  broadcast(_: string, body: unknown): void {
    this.told.push(body);
  }
  async request(member: number, topic: string, body: unknown): Promise<unknown> {
    if (topic === Topic.ABANDON) this.abandoned.push({ member, ...readShape(abandonMessage, body) });
    if (topic === Topic.RESET) this.reset.push({ member, ...readShape(resetMessage, body) });
    if (topic === Topic.ABANDON || topic === Topic.RESET) await this.forgetting(member);
    if (topic !== Topic.TAKEOVER) return null;
    this.leaders.push(member);
    this.onTakeover(body);
    return this.takeover(member, readShape(takeoverMessage, body).takeover);
  }
  /** What was told to all. */
  readonly told: unknown[] = [];
  /** Who was asked to drop what earlier runs had left. */
  readonly reset: { member: number; below: number; ranges: readonly [number, number][] }[] = [];
  /** As a leader that has the log's recovery for itself. */
  async plan(leader: number, takeover: number): Promise<void> {
    await this.#handlers.get(Topic.PLAN)!(leader, { takeover });
  }
  async register(id: number): Promise<void> {
    await this.#handlers.get(Topic.REGISTER)!(id, { logId: String(id) });
  }
  lose(id: number): void {
    this.peers.set(id, { id, state: 'failed' });
    this.#failed({ member: id, reason: 'lost' });
  }
  /** The process of a server has ended, and another one is here. */
  replace(id: number): void {
    this.lose(id);
    this.peers.set(id, { id, state: 'connected' });
  }
}

class FakeStore {
  readonly values = new Map<string, { value: string; revision: number }>();
  failures = 0;
  async get(key: string) {
    if (this.failures > 0) {
      this.failures -= 1;
      throw Object.assign(new Error('out of reach'), { code: 'ERR_RDMC_STATE_UNREACHABLE' });
    }
    return this.values.get(key);
  }
  async put(key: string, value: string, revision: number) {
    this.values.set(key, { value, revision: revision + 1 });
    return revision + 1;
  }
  async list(prefix: string) {
    return new Map([...this.values].filter(([key]) => key.startsWith(prefix)));
  }
}

const record = (id: number, state: string): LogRecord =>
  ({ logId: BigInt(id), owner: id, state }) as unknown as LogRecord;

const NEVER_MS = 2 ** 31 - 1;

interface Waits {
  readonly startMs?: number;
  readonly returnMs?: number;
  /** Delays the coordinator's answers. */
  readonly beforeLogs?: () => Promise<void>;
}

function start(
  mesh: FakeMesh,
  store: FakeStore,
  records: LogRecord[],
  events: PlacementEvents,
  { beforeLogs = async () => {}, ...waits }: Waits = {},
): Placement {
  const logs = async (): Promise<LogRecord[]> => {
    await beforeLogs();
    return records;
  };
  const coordinator = { logs } as unknown as Coordinator;
  const place = { mesh: mesh as unknown as Mesh, coordinator, store: store as unknown as StateStore };
  const times = { startMs: NEVER_MS, returnMs: NEVER_MS, ...waits };
  return new Placement({ ...place, servers: [...mesh.peers.keys()], ...times }, events);
}

it('slots are given out when the store that was out of reach is there again', async () => {
  const mesh = new FakeMesh([1, 2]);
  const store = new FakeStore();
  store.failures = 2;
  const failed: (string | undefined)[] = [];
  const records = [record(1, 'live'), record(2, 'live')];
  let placement!: Placement;
  await new Promise<void>((serving) => {
    placement = start(mesh, store, records, {
      serving: () => serving(),
      failed: ({ code, logId }) => failed.push(`${code} of ${logId}`),
    });
    void mesh.register(1);
    void mesh.register(2);
  });
  expect(failed).toEqual(Array(2).fill('ERR_RDMC_STATE_UNREACHABLE of undefined'));
  await placement.close();
});

it('a log that one server cannot recover is given to another one', async () => {
  const mesh = new FakeMesh([1, 2, 3, 4]);
  const store = new FakeStore();
  const records = [1, 2, 3, 4].map((id) => record(id, 'live'));
  let placement!: Placement;
  let recovered!: Promise<unknown>;
  await new Promise<void>((serving) => {
    recovered = new Promise((resolve) => {
      placement = start(mesh, store, records, { serving: () => serving(), recovered: resolve });
    });
    for (const id of [1, 2, 3, 4]) void mesh.register(id);
  });
  mesh.takeover = async (leader) => {
    if (leader !== 4) throw Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_MEMBER_LOST' });
    records[0] = record(1, 'recovered');
    store.values.set('kv/takeover/1', { value: '[[0,16383,"4"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  expect(mesh.leaders).toEqual([2, 3, 4]);
  await placement.close();
});

it('a new plan has the heirs forget what earlier attempts brought them, and is kept only then', async () => {
  const mesh = new FakeMesh([1, 2, 3]);
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  let placement!: Placement;
  let recovered!: Promise<unknown>;
  await new Promise<void>((serving) => {
    recovered = new Promise((resolve) => {
      placement = start(mesh, store, records, { serving: () => serving(), recovered: resolve });
    });
    for (const id of [1, 2, 3]) void mesh.register(id);
  });
  const attempts: number[] = [];
  const abandonedBefore: number[] = [];
  const others: unknown[] = [];
  mesh.takeover = async (leader, takeover) => {
    attempts.push(takeover);
    // Looked at later: what fails here is tried again, for ever.
    others.push(await mesh.plan(leader, takeover + 1).catch(({ code }: { code: string }) => code));
    await mesh.plan(leader, takeover);
    abandonedBefore.push(mesh.abandoned.length);
    if (attempts.length < 3) throw Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_MEMBER_LOST' });
    records[0] = record(1, 'recovered');
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  // Only the takeover that is under way may have a plan.
  expect(others).toEqual(Array(3).fill('ERR_RDMC_KV_TAKEOVER_FAILED'));
  // Of each attempt that failed, both heirs, as soon as the next one plans.
  expect(abandonedBefore).toEqual([0, 2, 4]);
  expect(mesh.abandoned.map(({ member, takeover }) => [member, takeover])).toEqual([
    [2, attempts[0]],
    [3, attempts[0]],
    [2, attempts[1]],
    [3, attempts[1]],
  ]);
  const slots = mesh.abandoned.slice(0, 2).flatMap(({ ranges }) => ranges);
  expect(slots.map(([from, to]) => to - from + 1).reduce((sum, count) => sum + count, 0)).toBe(5461);
  await placement.close();
});

/** A run of a coordinator, until it serves, over servers 1 to 3 that have had their slots in an earlier run. */
async function firstRun(store: FakeStore, records: LogRecord[]): Promise<FakeMesh> {
  const mesh = new FakeMesh([1, 2, 3]);
  let placement!: Placement;
  await new Promise<void>((serving) => {
    placement = start(mesh, store, records, { serving: () => serving() });
    for (const id of [1, 2, 3]) void mesh.register(id);
  });
  await placement.close();
  return mesh;
}

const epochsOf = (mesh: FakeMesh): number[] => mesh.told.map((body) => readShape(tableMessage, body).epoch);

it('another run waits for all servers with slots, and its tables are newer than those of the run before', async () => {
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  const before = await firstRun(store, records);
  const mesh = new FakeMesh([1, 2, 3]);
  let serving = (): void => {};
  const served = new Promise<void>((resolve) => {
    serving = resolve;
  });
  const placement = start(mesh, store, records, { serving: () => serving() });
  await mesh.register(3);
  await mesh.register(1);
  // Its work so far is done when a request of the next one is: nothing was told, and no log was declared lost.
  await placement.idle();
  expect([mesh.told, mesh.leaders, mesh.reset]).toEqual([[], [], []]);
  await mesh.register(2);
  await served;
  expect(mesh.leaders).toEqual([]);
  expect(Math.min(...epochsOf(mesh))).toBeGreaterThan(Math.max(...epochsOf(before)));
  await placement.close();
});

it('another run has servers drop what takeovers of earlier runs left, before its own first takeover', async () => {
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  await firstRun(store, records);
  const mesh = new FakeMesh([1, 2, 3]);
  const resets: number[] = [];
  const takeovers: number[] = [];
  let placement!: Placement;
  await new Promise<unknown>((recovered) => {
    mesh.takeover = async (_, takeover) => {
      resets.push(mesh.reset.length);
      takeovers.push(takeover);
      records[1] = record(2, 'recovered');
      store.values.set('kv/takeover/2', { value: '[[5461,10921,"1"]]', revision: 1 });
      return { entries: 0, milliseconds: 0 };
    };
    // Server 2 does not come.
    placement = start(mesh, store, records, { recovered }, { returnMs: 1 });
    void mesh.register(1);
    void mesh.register(3);
  });
  expect(resets).toEqual([2]);
  expect(mesh.reset.map(({ member }) => member).sort()).toEqual([1, 3]);
  const [first] = mesh.reset;
  expect(first!.below).toBeLessThanOrEqual(takeovers[0]!);
  // All slots but its own: server 1 has the first 5461.
  expect(mesh.reset.find(({ member }) => member === 1)!.ranges).toEqual([[5461, 16_383]]);
  await placement.close();
});

it('a table does not give slots to a server that was replaced while it was made', async () => {
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  await firstRun(store, records);
  const mesh = new FakeMesh([1, 2, 3]);
  const asked = new Deferred<void>();
  const released = new Deferred<void>();
  mesh.forgetting = (member) => {
    if (member === 3) asked.resolve();
    return member === 3 ? released.promise : Promise.resolve();
  };
  mesh.takeover = async () => {
    records[1] = record(2, 'recovered');
    store.values.set('kv/takeover/2', { value: '[[5461,10921,"1"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  const placement = start(mesh, store, records, {});
  for (const id of [1, 2, 3]) await mesh.register(id);
  await asked.promise;
  mesh.replace(2);
  released.resolve();
  await placement.idle();
  const owners = mesh.told
    .flatMap((body) => readShape(tableMessage, body).ranges)
    .map(([, , owner]) => owner);
  expect(new Set(owners)).toEqual(new Set([1, NOBODY, 3]));
  await placement.close();
});

it('a server that was replaced while it registered is not registered', async () => {
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  await firstRun(store, records);
  const mesh = new FakeMesh([1, 2, 3]);
  const released = new Deferred<void>();
  const placement = start(mesh, store, records, {}, { beforeLogs: () => released.promise });
  const registering = [1, 2, 3].map((id) => mesh.register(id));
  mesh.replace(2);
  released.resolve();
  await Promise.all(registering);
  await placement.idle();
  // The run has not begun: server 2 is not here.
  expect(mesh.told).toEqual([]);
  await placement.close();
});

it('a takeover that failed while the heirs were forgetting does not change the plan any more', async () => {
  const mesh = new FakeMesh([1, 2, 3]);
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  const released = new Deferred<void>();
  const outcomes: unknown[] = [];
  let late: Promise<unknown> | undefined;
  let placement!: Placement;
  let recovered!: Promise<unknown>;
  await new Promise<void>((serving) => {
    recovered = new Promise((resolve) => {
      placement = start(mesh, store, records, { serving: () => serving(), recovered: resolve });
    });
    for (const id of [1, 2, 3]) void mesh.register(id);
  });
  mesh.takeover = async (leader, takeover) => {
    if (mesh.leaders.length === 2) {
      mesh.forgetting = () => released.promise;
      late = mesh.plan(leader, takeover).catch(({ code }: { code: string }) => code);
    }
    if (mesh.leaders.length < 3) throw Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_MEMBER_LOST' });
    released.resolve();
    outcomes.push(await late);
    await mesh.plan(leader, takeover);
    records[0] = record(1, 'recovered');
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  expect(outcomes).toEqual(['ERR_RDMC_KV_TAKEOVER_FAILED']);
  await placement.close();
});

it('a server whose log was declared dead is not registered, and one that is not known goes on', async () => {
  const mesh = new FakeMesh([1, 2, 3]);
  const records = [record(1, 'recovering'), { ...record(2, 'live'), owner: 7 }];
  const failed: string[] = [];
  const events: PlacementEvents = { failed: ({ code, server }) => failed.push(`${server}: ${code}`) };
  const placement = start(mesh, new FakeStore(), records, events);
  await expect(mesh.register(1)).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FENCED' });
  for (const id of [2, 3]) {
    await expect(mesh.register(id)).rejects.toMatchObject({ code: 'ERR_RDMC_KV_FOREIGN_STATE' });
  }
  expect(failed).toEqual(['2: ERR_RDMC_KV_FOREIGN_STATE', '3: ERR_RDMC_KV_FOREIGN_STATE']);
  await placement.close();
});

it('the first start of a cluster waits for all servers, however late they are', async () => {
  const mesh = new FakeMesh([1, 2]);
  const records = [record(1, 'live'), record(2, 'live')];
  let serving = (): void => {};
  const served = new Promise<void>((resolve) => {
    serving = resolve;
  });
  const placement = start(mesh, new FakeStore(), records, { serving: () => serving() }, { startMs: 0 });
  await mesh.register(1);
  await new Promise((resolve) => setTimeout(resolve, 0));
  await placement.idle();
  expect(mesh.told).toEqual([]);
  await mesh.register(2);
  await served;
  await placement.close();
});

it('the log of a server that is starting is not given up, and one of an earlier process is', async () => {
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  await firstRun(store, records);
  // Server 3 was started again twice, each time after a takeover of its log.
  records[2] = record(3, 'recovered');
  store.values.set('kv/takeover/3', { value: '[[10922,16383,"1"]]', revision: 1 });
  records.push({ ...record(4, 'recovering'), owner: 3 }, { ...record(5, 'live'), owner: 3 });
  const mesh = new FakeMesh([1, 2, 3]);
  const dropped: string[] = [];
  mesh.onTakeover = (body) => dropped.push(readShape(takeoverMessage, body).logId);
  const placement = start(mesh, store, records, {});
  await mesh.register(1);
  await mesh.register(2);
  await placement.idle();
  expect(new Set(dropped)).toEqual(new Set(['4']));
  await placement.close();
});
