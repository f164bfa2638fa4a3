import { type Subscription, subscription } from '@rdmc/common';
/** What the coordinator does where its store, or a server, does not do as asked. */
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { Coordinator, LogRecord, StateStore } from '@rdmc/tailwind/coordinator';
import { expect, it } from 'vitest';
import { abandonMessage, Topic, takeoverMessage } from '../src/cluster/messages.js';
import { Placement, type PlacementEvents } from '../src/cluster/placement.js';

/** A mesh with these servers, on which the test is every other member. */
class FakeMesh {
  readonly peers = new Map<number, { id: number; state: string }>();
  readonly #handlers = new Map<string, (from: number, body: unknown) => unknown>();
  #failed: (failure: { member: number; reason: string }) => void = () => {};
  /** Who was asked to take a log over. */
  readonly leaders: number[] = [];
  /** Who was asked to forget which attempt, and its slots. */
  readonly abandoned: { member: number; takeover: number; ranges: readonly [number, number][] }[] = [];
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
  broadcast(): void {}
  async request(member: number, topic: string, body: unknown): Promise<unknown> {
    if (topic === Topic.ABANDON) this.abandoned.push({ member, ...readShape(abandonMessage, body) });
    if (topic !== Topic.TAKEOVER) return null;
    this.leaders.push(member);
    return this.takeover(member, readShape(takeoverMessage, body).takeover);
  }
  /** As a leader that has the log's recovery for itself. */
  async plan(leader: number, takeover: number): Promise<void> {
    await this.#handlers.get(Topic.PLAN)!(leader, { takeover });
  }
  register(id: number): void {
    this.#handlers.get(Topic.REGISTER)!(id, { logId: String(id) });
  }
  lose(id: number): void {
    this.peers.set(id, { id, state: 'failed' });
    this.#failed({ member: id, reason: 'lost' });
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

function start(mesh: FakeMesh, store: FakeStore, records: LogRecord[], events: PlacementEvents): Placement {
  const coordinator = { logs: async () => records } as unknown as Coordinator;
  return new Placement(mesh as unknown as Mesh, coordinator, store as unknown as StateStore, events);
}

it('slots are given out when the store that was out of reach is there again', async () => {
  const mesh = new FakeMesh([1, 2]);
  const store = new FakeStore();
  store.failures = 2;
  const failed: (string | undefined)[] = [];
  const records = [record(1, 'open'), record(2, 'open')];
  let placement!: Placement;
  await new Promise<void>((serving) => {
    placement = start(mesh, store, records, {
      serving: () => serving(),
      failed: ({ code, logId }) => failed.push(`${code} of ${logId}`),
    });
    mesh.register(1);
    mesh.register(2);
  });
  expect(failed).toEqual(Array(2).fill('ERR_RDMC_STATE_UNREACHABLE of undefined'));
  await placement.close();
});

it('a log that one server cannot recover is given to another one', async () => {
  const mesh = new FakeMesh([1, 2, 3, 4]);
  const store = new FakeStore();
  const records = [1, 2, 3, 4].map((id) => record(id, 'open'));
  let placement!: Placement;
  let recovered!: Promise<unknown>;
  await new Promise<void>((serving) => {
    recovered = new Promise((resolve) => {
      placement = start(mesh, store, records, { serving: () => serving(), recovered: resolve });
    });
    for (const id of [1, 2, 3, 4]) mesh.register(id);
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
  const records = [1, 2, 3].map((id) => record(id, 'open'));
  let placement!: Placement;
  let recovered!: Promise<unknown>;
  await new Promise<void>((serving) => {
    recovered = new Promise((resolve) => {
      placement = start(mesh, store, records, { serving: () => serving(), recovered: resolve });
    });
    for (const id of [1, 2, 3]) mesh.register(id);
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
