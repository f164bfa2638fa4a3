import { uptime } from 'node:os';
import { join } from 'node:path';
import { Deferred, subscription } from '@rdmc/common';
import type { MemberEvent, Mesh } from '@rdmc/mesh';
import {
  bootClock,
  Coordinator,
  CoordinatorClient,
  FileStore,
  Lease,
  type StateStore,
  type StoredValue,
} from '@rdmc/tailwind/coordinator';
import { refusal, temporaryDirectory, until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FOLLOWED_TOPIC, LEAD_TOPIC, LeadView } from '../src/coordinator/lead-view.js';
import { LogRegistry } from '../src/coordinator/log-registry.js';
import type { OwnerProcess } from '../src/coordinator/owner-process.js';
import { startCluster, startCoordinator, startMeshes } from './support/cluster.js';

/** A clock that stands still, and counts how often it is read. */
class TestClock {
  #looks = 0;

  constructor(public now: number) {}

  readonly clock = (): number => {
    this.#looks += 1;
    return this.now;
  };

  /** Resolves when it has been read a number of further times, or the other event has happened. */
  async looked(orElse: () => boolean): Promise<void> {
    const before = this.#looks;
    await until(() => orElse() || this.#looks > before + 2);
  }
}

/** A store that can delay an answer. */
class SlowStore implements StateStore {
  #left = 0;
  readonly #held = new Deferred<void>();
  readonly #released = new Deferred<void>();

  constructor(private readonly store: StateStore) {}

  /** Delays the n-th answer to `get` from now on, with the value of its moment. */
  hold(n: number): { held: Promise<void>; release: () => void } {
    this.#left = n;
    return { held: this.#held.promise, release: () => this.#released.resolve() };
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const found = await this.store.get(key);
    this.#left -= 1;
    if (this.#left === 0) {
      this.#held.resolve();
      await this.#released.promise;
    }
    return found;
  }

  list(prefix: string): Promise<Map<string, StoredValue>> {
    return this.store.list(prefix);
  }

  put(key: string, value: string, revision: number): Promise<number> {
    return this.store.put(key, value, revision);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

async function rig() {
  const [first, second, third] = await startMeshes(3);
  const coordinator = await startCoordinator(first!);
  const client = (member: typeof first) => new CoordinatorClient(member!.mesh, 0);
  return { coordinator, members: [first!, second!, third!], clients: [first, second, third].map(client) };
}

/** A mesh whose members come and go, as far as a coordinator uses it. The test is the other members. */
class LiveMesh {
  readonly id = 0;
  readonly incarnation = 2;
  readonly failed = new Map<number, object>();
  readonly peers = new Map<number, { id: number; incarnation: number; state: string }>();
  #listener: (event: MemberEvent) => void = () => {};

  /** What members were told. */
  readonly told: [member: number, topic: string, body: unknown][] = [];

  onRequest() {
    return subscription(() => {});
  }

  onMessage() {
    return subscription(() => {});
  }

  send(member: number, topic: string, body: unknown): void {
    this.told.push([member, topic, body]);
  }

  onMember(listener: (event: MemberEvent) => void) {
    this.#listener = listener;
    for (const { id, incarnation, state } of this.peers.values())
      if (state === 'connected') queueMicrotask(() => this.tell('joined', id, incarnation));
    return subscription(() => {});
  }

  tell(type: MemberEvent['type'], member: number, incarnation: number): void {
    this.#listener({ type, member, incarnation, epoch: 1, code: '', reason: '' } as MemberEvent);
  }
}

/** A coordinator in its second term, and a log of each of these processes from the first one, whose leases are over. */
async function among(mesh: LiveMesh, owners: readonly OwnerProcess[], time = new TestClock(0)) {
  const store = await FileStore.open(join(temporaryDirectory(), 'state'));
  const before = await LogRegistry.begin(store);
  const logs: bigint[] = [];
  for (const owner of owners) logs.push((await before.createLog(owner)).logId);
  const options = { leaseMs: 1000, leaseMarginMs: 100, clock: time.clock };
  const coordinator = await Coordinator.open({ mesh: mesh as unknown as Mesh, store, ...options });
  onTestFinished(() => coordinator.close());
  const states = async (): Promise<string[]> => {
    const found = await coordinator.logs();
    return logs.map((id) => found.find(({ logId }) => logId === id)!.state);
  };
  /** All of them are in these states, now or soon. */
  const become = (expected: readonly string[]) =>
    until(async () => JSON.stringify(await states()) === JSON.stringify(expected));
  return { store, logs, states, become, coordinator };
}

describe('a coordinator where members come and go', () => {
  it('begins, and declares the logs of members that have left dead, and not of those that are not connected', async () => {
    const mesh = new LiveMesh();
    for (const [id, state] of [
      [1, 'failed'],
      [2, 'failed'],
      [3, 'left'],
    ] as const) {
      mesh.peers.set(id, { id, incarnation: 4, state });
    }
    // It has lost member 2, and has only heard of member 1.
    mesh.failed.set(2, {});
    mesh.peers.set(4, { id: 4, incarnation: 5, state: 'connected' });
    const time = new TestClock(5000);
    const { states, become } = await among(
      mesh,
      [1, 2, 3, 4].map((member) => ({ member, incarnation: 4 })),
      time,
    );
    // A primary may serve reads by a lease of the former term.
    time.now = 6099;
    await time.looked(() => false);
    expect(await states()).toEqual(['live', 'live', 'live', 'live']);
    time.now = 6100;
    await become(['live', 'live', 'recovering', 'recovering']);
  });

  it('tells its term to each member that is connected, and to each that joins, and hears of another state', async () => {
    const mesh = new LiveMesh();
    mesh.peers.set(1, { id: 1, incarnation: 1, state: 'connected' });
    mesh.peers.set(2, { id: 2, incarnation: 1, state: 'failed' });
    const { coordinator } = await among(mesh, []);
    await until(() => mesh.told.length > 0);
    mesh.tell('joined', 2, 1);
    expect(mesh.told).toEqual([1, 2].map((member) => [member, LEAD_TOPIC, { term: 2 }]));
    expect(coordinator.term).toBe(2);
  });

  it('does not declare the logs of a process dead that it lost, until the process left or a newer one joined', async () => {
    const mesh = new LiveMesh();
    const time = new TestClock(0);
    const { states, become } = await among(
      mesh,
      [1, 2].map((member) => ({ member, incarnation: 4 })),
      time,
    );
    for (const member of [1, 2]) mesh.tell('lost', member, 4);
    expect(await states()).toEqual(['live', 'live']);
    // Perhaps this process was stopped, and the others gave it up.
    mesh.tell('joined', 1, 4);
    expect(await states()).toEqual(['live', 'live']);
    mesh.tell('joined', 1, 5);
    expect(await states()).toEqual(['live', 'live']);
    time.now = 1100;
    await become(['recovering', 'live']);
    mesh.tell('left', 2, 4);
    expect(await states()).toEqual(['recovering', 'recovering']);
  });

  it('lets another member recover a log when it lost the one that did', async () => {
    const mesh = new LiveMesh();
    const { store, logs, states } = await among(mesh, [{ member: 1, incarnation: 4 }]);
    const registry = new LogRegistry(store, 2);
    const { attempt } = await registry.beginRecovery(logs[0]!, 2, () => false);
    mesh.tell('lost', 2, 7);
    expect(await states()).toEqual(['recovering']);
    const late = registry.finishRecovery(logs[0]!, 2, { attempt, successors: [] });
    await expect(late).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
  });

  it('does not let a recovery end whose successor is being declared dead', async () => {
    const owners = [1, 2, 3].map((member) => ({ member, incarnation: 4 }));
    const { store, logs, states } = await among(new LiveMesh(), owners);
    const [dead, heir, other] = logs as [bigint, bigint, bigint];
    const registry = new LogRegistry(store, 2);
    const { attempt } = await registry.beginRecovery(dead, 3, () => false);
    const dies = registry.declareDead(heir);
    const ends = registry.finishRecovery(dead, 3, { attempt, successors: [other, heir] });
    await expect(ends).rejects.toEqual(refusal('ERR_RDMC_LOG_STATE'));
    await dies;
    expect(await states()).toEqual(['recovering', 'recovering', 'live']);
    await registry.finishRecovery(dead, 3, { attempt, successors: [other] });
    // The answer may have been lost: asked again, also when a successor has died since.
    await registry.declareDead(other);
    await registry.finishRecovery(dead, 3, { attempt, successors: [other] });
    expect(await states()).toEqual(['recovered', 'recovering', 'recovering']);
  });
});

describe('the coordinator', () => {
  it('creates logs with ids that were never used, also after a restart', async () => {
    const [member] = await startMeshes(2);
    const path = join(temporaryDirectory(), 'state');
    const ids: bigint[] = [];
    const clusters = new Set<string>();
    for (let run = 0; run < 2; run += 1) {
      const coordinator = await Coordinator.open({ mesh: member!.mesh, store: await FileStore.open(path) });
      const client = new CoordinatorClient(member!.mesh, 0);
      const logs = await Promise.all([client.createLog(), client.createLog()]);
      ids.push(...logs.map(({ logId }) => logId));
      clusters.add(await client.clusterId());
      expect(logs[0]).toMatchObject({ owner: 0, state: 'live', recoverer: null, successors: [] });
      await coordinator.close();
    }
    expect(new Set(ids).size).toBe(4);
    expect(clusters.size).toBe(1);
  });

  it('raises minima of live logs for their owners only, and only upwards', async () => {
    const { clients, coordinator } = await rig();
    const log = await clients[1]!.createLog();
    await clients[1]!.raiseMinimum({ ...log, segmentId: 0n }, { segmentId: 3n, epoch: 2 });
    await clients[1]!.raiseMinimum({ ...log, segmentId: 0n }, { segmentId: 2n, epoch: 9 });
    await clients[1]!.raiseMinimum({ ...log, segmentId: 0n }, { segmentId: 3n, epoch: 1 });
    expect((await coordinator.logs())[0]!.minimum).toEqual({ segmentId: 3n, epoch: 2 });
    const wrong = clients[2]!.raiseMinimum({ ...log, segmentId: 0n }, { segmentId: 9n, epoch: 1 });
    await expect(wrong).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    const unknown = clients[1]!.raiseMinimum({ logId: 99n, segmentId: 0n }, { segmentId: 9n, epoch: 1 });
    await expect(unknown).rejects.toEqual(refusal('ERR_RDMC_LOG_UNKNOWN'));
  });

  it('refuses everything to the owner of a log that is being recovered', async () => {
    const { clients } = await rig();
    const log = await clients[1]!.createLog();
    const lease = await clients[1]!.lease(log.logId);
    const recovering = await clients[2]!.beginRecovery(log.logId);
    expect(recovering).toMatchObject({ state: 'recovering', recoverer: 2 });
    expect(lease.valid).toBe(false);
    expect(() => lease.assertValid()).toThrow(refusal('ERR_RDMC_LEASE_EXPIRED'));
    const fenced = refusal('ERR_RDMC_LOG_FENCED');
    await expect(
      clients[1]!.raiseMinimum({ ...log, segmentId: 1n }, { segmentId: 1n, epoch: 2 }),
    ).rejects.toEqual(fenced);
    await expect(clients[1]!.lease(log.logId)).rejects.toEqual(fenced);
    lease.close();
  });

  it('lets one member recover a log, another one after its loss, and none after the recovery', async () => {
    const { clients, members } = await rig();
    const log = await clients[0]!.createLog();
    const first = await clients[1]!.beginRecovery(log.logId);
    const last = await clients[1]!.beginRecovery(log.logId);
    await expect(clients[2]!.beginRecovery(log.logId)).rejects.toEqual(refusal('ERR_RDMC_RECOVERY_RUNNING'));
    await expect(clients[2]!.finishRecovery(last, [])).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    // Also of two attempts of one member, only the last one counts.
    await expect(clients[1]!.finishRecovery(first, [])).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    await members[1]!.kill();
    const attempt = await clients[2]!.beginRecovery(log.logId);
    await clients[2]!.finishRecovery(attempt, [5n, 6n]);
    await clients[2]!.finishRecovery(attempt, [5n, 6n]);
    await expect(clients[2]!.finishRecovery(attempt, [7n])).rejects.toEqual(refusal('ERR_RDMC_LOG_STATE'));
    const [record] = await clients[0]!.logs();
    expect(record).toMatchObject({ state: 'recovered', recoverer: 2, successors: [5n, 6n] });
    await expect(clients[0]!.beginRecovery(log.logId)).rejects.toEqual(refusal('ERR_RDMC_LOG_STATE'));
  });

  it('lets another member recover a log that a connected member began to recover in an earlier run of the coordinator', async () => {
    const members = await startMeshes(3);
    const path = join(temporaryDirectory(), 'state');
    const clients = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const startRun = async () =>
      Coordinator.open({ mesh: members[0]!.mesh, store: await FileStore.open(path), leaseMs: 1 });
    let run = await startRun();
    const { logId } = await clients[0]!.createLog();
    const left = await clients[1]!.beginRecovery(logId);
    await expect(clients[2]!.beginRecovery(logId)).rejects.toEqual(refusal('ERR_RDMC_RECOVERY_RUNNING'));
    await run.close();
    run = await startRun();
    const attempt = await clients[2]!.beginRecovery(logId);
    await expect(clients[1]!.beginRecovery(logId)).rejects.toEqual(refusal('ERR_RDMC_RECOVERY_RUNNING'));
    await expect(clients[1]!.finishRecovery(left, [])).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    await clients[2]!.finishRecovery(attempt, []);
    await run.close();
  });

  it('lets another member recover a log after the current attempt was given up', async () => {
    const { clients } = await rig();
    const { logId } = await clients[0]!.createLog();
    const first = await clients[1]!.beginRecovery(logId);
    const second = await clients[1]!.beginRecovery(logId);
    await clients[1]!.giveUpRecovery(first);
    await clients[0]!.giveUpRecovery(second);
    await expect(clients[2]!.beginRecovery(logId)).rejects.toEqual(refusal('ERR_RDMC_RECOVERY_RUNNING'));
    await clients[1]!.giveUpRecovery(second);
    const third = await clients[2]!.beginRecovery(logId);
    await expect(clients[1]!.finishRecovery(second, [])).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    await clients[2]!.finishRecovery(third, []);
    await clients[2]!.giveUpRecovery(third);
    expect((await clients[0]!.log(logId)).state).toBe('recovered');
  });

  it('lets only the owner abandon an empty log', async () => {
    const { clients } = await rig();
    const { logId } = await clients[1]!.createLog();
    await expect(clients[2]!.abandonLog(logId)).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    await clients[1]!.abandonLog(logId);
    await clients[1]!.abandonLog(logId);
    expect((await clients[0]!.log(logId)).state).toBe('recovered');
    await expect(clients[2]!.beginRecovery(logId)).rejects.toEqual(refusal('ERR_RDMC_LOG_STATE'));
    const dead = await clients[1]!.createLog();
    await clients[2]!.beginRecovery(dead.logId);
    await expect(clients[1]!.abandonLog(dead.logId)).rejects.toEqual(refusal('ERR_RDMC_LOG_FENCED'));
  });

  it('declares the logs of a lost member dead', async () => {
    const { clients, members, coordinator } = await rig();
    await clients[1]!.createLog();
    await clients[2]!.createLog();
    await members[1]!.kill();
    let states: string[];
    do {
      await new Promise((resolve) => setImmediate(resolve));
      states = (await coordinator.logs()).map(({ state }) => state);
    } while (!states.includes('recovering'));
    expect(states).toEqual(['recovering', 'live']);
  });

  it('answers invalid requests with a code', async () => {
    // Nodes, for the backup's requests too.
    const members = await startCluster(2);
    await startCoordinator(members[0]!);
    const call = (body: unknown) => members[1]!.mesh.request(0, 'tailwind.coordinator', body);
    const ask = (request: unknown) => call({ term: 0, request });
    await expect(call({ op: 'logs' })).rejects.toEqual(refusal('ERR_RDMC_PROTOCOL'));
    await expect(ask({ op: 'dance' })).rejects.toEqual(refusal('ERR_RDMC_PROTOCOL'));
    await expect(ask({ op: 'lease', logId: '99999999999999999999' })).rejects.toEqual(
      refusal('ERR_RDMC_PROTOCOL'),
    );
    await expect(members[1]!.mesh.request(0, 'tailwind.backup', { op: 'open' })).rejects.toEqual(
      refusal('ERR_RDMC_PROTOCOL'),
    );
  });
});

describe('runs of a coordinator over one state', () => {
  it('have rising terms, and what one says that another has followed is refused at both ends', async () => {
    const [member, other] = await startMeshes(2);
    const path = join(temporaryDirectory(), 'state');
    const client = new CoordinatorClient(other!.mesh, 0);
    const first = await startCoordinator(member!, {}, path);
    const { logId } = await client.createLog();
    await first.close();
    const second = await startCoordinator(member!, {}, path);
    expect(second.term).toBe(first.term + 1);
    await client.log(logId);
    await second.close();
    // Its state is another one, where runs have only begun: as a coordinator that was stopped, and goes on.
    const foreign: object[] = [];
    const store = await FileStore.open(join(temporaryDirectory(), 'state'));
    const third = await Coordinator.open({
      mesh: member!.mesh,
      store,
      onForeign: (event) => foreign.push(event),
    });
    onTestFinished(() => third.close());
    await expect(client.log(logId)).rejects.toEqual(refusal('ERR_RDMC_COORDINATOR_STALE'));
    await until(() => foreign.length === 2);
    expect(foreign).toEqual([0, 1].map((id) => ({ member: id, term: second.term })));
    const orders: unknown[] = [];
    client.onRequest('order', (_, body) => orders.push(body));
    await expect(third.channel.request(1, 'order', 'a')).rejects.toEqual(
      refusal('ERR_RDMC_COORDINATOR_STALE'),
    );
    expect(orders).toEqual([]);
  });

  it('follow each other at different members: requests go to the new one, also those under way', async () => {
    const [first, second, asker] = await startMeshes(3);
    const path = join(temporaryDirectory(), 'state');
    const client = new CoordinatorClient(asker!.mesh, 0);
    const former = await startCoordinator(first!, {}, path);
    const { logId } = await client.createLog();
    const leads: unknown[] = [];
    client.onLead((lead) => leads.push(lead));
    await former.close();
    // Nobody answers at the first member now.
    const lost = client.log(logId).catch(({ code }) => code);
    const latter = await startCoordinator(second!, {}, path);
    expect(await lost).toBe('ERR_RDMC_COORDINATOR_STALE');
    expect((await client.log(logId)).logId).toBe(logId);
    expect([leads, client.lead]).toEqual([[{ member: 1, term: 2 }], { member: 1, term: 2 }]);
    const heard: unknown[] = [];
    client.onMessage('table', (from, body) => heard.push([from, body]));
    client.onRequest('order', (from, body) => [from, body]);
    const closer = latter.channel.onRequest('question', (from, body) => [from, body]);
    latter.channel.broadcast('table', 1);
    latter.channel.send(2, 'table', 2);
    expect(await latter.channel.request(2, 'order', 'a')).toEqual([1, 'a']);
    expect(await client.request('question', 'b')).toEqual([2, 'b']);
    expect(heard).toEqual([1, 2].map((body) => [1, body]));
    closer.close();
  });

  it('are known by their terms: a lower one is refused, and is told', () => {
    const sent: unknown[] = [];
    let hear: (from: number, body: unknown) => void = () => {};
    const view = LeadView.of({
      onMessage: (_, listener) => {
        hear = listener;
        return subscription(() => {});
      },
      send: (...message) => sent.push(message),
    });
    hear(4, { term: 3 });
    const { signal } = view.route(0);
    view.accept({ member: 4, term: 3 });
    hear(7, { term: 2 });
    expect(() => view.accept({ member: 7, term: 2 })).toThrow(refusal('ERR_RDMC_COORDINATOR_STALE'));
    expect([view.highest, view.lead, sent]).toEqual([
      3,
      { member: 4, term: 3 },
      [[7, FOLLOWED_TOPIC, { term: 3 }]],
    ]);
    expect([view.route(0).member, signal.aborted]).toEqual([4, false]);
    view.accept({ member: 7, term: 4 });
    expect([view.route(0).member, signal.aborted]).toEqual([7, true]);
  });

  it('do not let recoveries of earlier runs finish', async () => {
    const [member, other] = await startMeshes(2);
    const path = join(temporaryDirectory(), 'state');
    const client = new CoordinatorClient(other!.mesh, 0);
    const first = await startCoordinator(member!, {}, path);
    const log = await new CoordinatorClient(member!.mesh, 0).createLog();
    const attempt = await client.beginRecovery(log.logId);
    await first.close();
    await startCoordinator(member!, {}, path);
    await expect(client.finishRecovery(attempt, [])).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    const again = await client.beginRecovery(log.logId);
    await client.finishRecovery(again, []);
    expect((await client.log(log.logId)).state).toBe('recovered');
  });
});

describe('leases', () => {
  it('are renewed at once where a standby begins, and not where the lease is closed', async () => {
    const [first, second, holder] = await startMeshes(3);
    const path = join(temporaryDirectory(), 'state');
    const options = { leaseMs: 20_000 };
    const former = await startCoordinator(first!, options, path);
    const client = new CoordinatorClient(holder!.mesh, 0);
    const [kept, closed] = [await client.createLog(), await client.createLog()];
    let now = 0;
    const lease = await client.lease(kept.logId, () => now);
    (await client.lease(closed.logId)).close();
    await former.close();
    now = 20_000;
    expect(lease.valid).toBe(false);
    const latter = await startCoordinator(second!, options, path);
    await until(() => lease.valid);
    expect(latter.term).toBe(2);
    lease.close();
  });

  it('last from the moment of asking, and end by time, by a clock that goes backwards, and by close', async () => {
    let now = 1000;
    const lease = new Lease(
      async () => {
        now += 30;
        return 100;
      },
      () => now,
    );
    expect(lease.valid).toBe(false);
    await lease.renew();
    now = 1099;
    expect(lease.valid).toBe(true);
    now = 1100;
    expect(lease.valid).toBe(false);
    now = 999;
    expect(lease.valid).toBe(false);
    now = 1050;
    lease.assertValid();
    lease.close();
    expect(lease.valid).toBe(false);
  });

  it('recovery waits for the lease’s end and a margin, on the clock that counts suspended time', async () => {
    const members = await startMeshes(2);
    let now = 5000;
    let looks = 0;
    const clock = (): number => {
      looks += 1;
      return now;
    };
    await startCoordinator(members[0]!, { leaseMs: 1000, leaseMarginMs: 100, clock });
    const [first, second] = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const { logId } = await first!.createLog();
    now = 9000;
    const lease = await first!.lease(logId, () => now);
    let begun = false;
    const recovery = second!.beginRecovery(logId).then(() => {
      begun = true;
    });
    while ((await first!.logs())[0]!.state === 'live');
    now = 10_099;
    expect(lease.valid).toBe(false);
    const before = looks;
    await until(() => begun || looks > before + 2);
    await second!.logs();
    expect(begun).toBe(false);
    now = 10_100;
    await recovery;
    lease.close();
  });

  it('are not forgotten when an attempt that is not the last one wants to finish', async () => {
    const members = await startMeshes(3);
    let now = 5000;
    let looks = 0;
    const clock = (): number => {
      looks += 1;
      return now;
    };
    await startCoordinator(members[0]!, { leaseMs: 1000, leaseMarginMs: 0, clock });
    const clients = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const { logId } = await clients[1]!.createLog();
    now = 9000;
    const lease = await clients[1]!.lease(logId, () => now);
    const stranger = clients[2]!.finishRecovery({ logId, attempt: 1 }, []);
    await expect(stranger).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    let begun = false;
    const recovery = clients[2]!.beginRecovery(logId).then(() => {
      begun = true;
    });
    while ((await clients[0]!.log(logId)).state === 'live');
    const before = looks;
    await until(() => begun || looks > before + 2);
    expect(begun).toBe(false);
    now = 10_000;
    await recovery;
    lease.close();
  });

  it('of an earlier run of the coordinator may have been given just before this run began', async () => {
    const members = await startMeshes(2);
    const path = join(temporaryDirectory(), 'state');
    const time = new TestClock(5000);
    const options = { leaseMs: 1000, leaseMarginMs: 100, clock: time.clock };
    const earlier = await startCoordinator(members[0]!, options, path);
    const [first, second] = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const { logId } = await first!.createLog();
    time.now = 9000;
    const lease = await first!.lease(logId, () => time.now);
    expect(lease.valid).toBe(true);
    // It is not renewed, so that the run that follows does not hear of it.
    lease.close();
    await earlier.close();
    await startCoordinator(members[0]!, options, path);
    let begun = false;
    const recovery = second!.beginRecovery(logId).then(() => {
      begun = true;
    });
    time.now = 10_099;
    await time.looked(() => begun);
    expect([begun, (await first!.log(logId)).state]).toEqual([false, 'live']);
    time.now = 10_100;
    await recovery;
  });

  it('granted while a recovery begins are waited for, in either order', async () => {
    const members = await startMeshes(3);
    const time = new TestClock(5000);
    const file = await FileStore.open(join(temporaryDirectory(), 'state'));
    const slow = new SlowStore(file);
    const options = { leaseMs: 1000, leaseMarginMs: 0, clock: time.clock };
    const coordinator = await Coordinator.open({ mesh: members[0]!.mesh, store: slow, ...options });
    onTestFinished(() => coordinator.close());
    const clients = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const { logId } = await clients[1]!.createLog();
    time.now = 9000;
    // The second read answers that the log lives; the answer is delayed while the recovery begins.
    const answer = slow.hold(2);
    const leased = clients[1]!.lease(logId, () => time.now);
    await answer.held;
    let begun = false;
    const recovery = clients[2]!.beginRecovery(logId).then(() => {
      begun = true;
    });
    while ((await clients[0]!.log(logId)).state === 'live');
    await time.looked(() => begun);
    expect(begun).toBe(false);
    answer.release();
    const lease = await leased;
    time.now = 9999;
    expect(lease.valid).toBe(true);
    await time.looked(() => begun);
    expect(begun).toBe(false);
    time.now = 10_000;
    await recovery;
    lease.close();
  });

  it('are not granted on a log that is declared dead while its owner is read', async () => {
    const members = await startMeshes(3);
    const time = new TestClock(5000);
    const slow = new SlowStore(await FileStore.open(join(temporaryDirectory(), 'state')));
    const options = { leaseMs: 1000, leaseMarginMs: 0, clock: time.clock };
    const coordinator = await Coordinator.open({ mesh: members[0]!.mesh, store: slow, ...options });
    onTestFinished(() => coordinator.close());
    const clients = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const { logId } = await clients[1]!.createLog();
    time.now = 9000;
    // The first read answers that the log lives; the answer arrives when the log is dead.
    const answer = slow.hold(1);
    const leased = clients[1]!
      .lease(logId, () => time.now)
      .then(
        () => 'given',
        ({ code }: { code: string }) => code,
      );
    await answer.held;
    // No lease was noted: the recovery has begun at once.
    expect(await clients[2]!.beginRecovery(logId)).toMatchObject({ state: 'recovering' });
    answer.release();
    expect(await leased).toBe('ERR_RDMC_LOG_FENCED');
  });

  it('asked for by others, or for logs that do not exist, do not delay a recovery', async () => {
    const members = await startMeshes(3);
    let now = 5000;
    await startCoordinator(members[0]!, { leaseMs: 1000, leaseMarginMs: 0, clock: () => now });
    const clients = members.map(({ mesh }) => new CoordinatorClient(mesh, 0));
    const { logId } = await clients[1]!.createLog();
    now = 6000;
    await expect(clients[2]!.lease(logId)).rejects.toEqual(refusal('ERR_RDMC_NOT_OWNER'));
    await expect(clients[2]!.lease(99n)).rejects.toEqual(refusal('ERR_RDMC_LOG_UNKNOWN'));
    // The clock stands still: a lease that was noted would never run out.
    await clients[2]!.beginRecovery(logId);
  });

  it.each([
    ['leaseMs', 20_001],
    ['leaseMarginMs', 5_001],
  ])('a %s that no recovery could wait for is refused', async (name, value) => {
    const [member] = await startMeshes(2);
    const started = startCoordinator(member!, { [name]: value });
    await expect(started).rejects.toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
  });

  it('the boot clock counts up in milliseconds since the boot', () => {
    for (let i = 0; i < 1000; i += 1) {
      const before = Math.round(uptime() * 1000);
      const now = bootClock();
      expect(now).toBeGreaterThanOrEqual(before);
      expect(now).toBeLessThanOrEqual(Math.round(uptime() * 1000));
    }
  });
});
