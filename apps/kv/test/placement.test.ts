/** What the coordinator does where its store, or a server, does not do as asked. */
import { Deferred } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { LogRecord } from '@rdmc/tailwind/coordinator';
import { expect, it, vi } from 'vitest';
import { tableMessage, takeoverMessage } from '../src/cluster/messages.js';
import type { Placement } from '../src/cluster/placement.js';
import type { PlacementEvents } from '../src/cluster/placement-events.js';
import { NOBODY } from '../src/cluster/slot-table.js';
import {
  epochsOf,
  FakeMesh,
  FakeStore,
  firstRun,
  formerCluster,
  newCluster,
  record,
  start,
} from './support/fake-mesh.js';

/** A run that gives slots to all servers, and serves; and its next recovery. */
async function servingRun(
  mesh: FakeMesh,
  store: FakeStore,
  records: LogRecord[],
): Promise<{ placement: Placement; recovered: Promise<unknown> }> {
  const [served, recovered] = [new Deferred<void>(), new Deferred<unknown>()];
  const events = { serving: () => served.resolve(), recovered: recovered.resolve };
  const placement = start(mesh, store, records, events);
  for (const id of mesh.peers.keys()) void mesh.register(id);
  await served.promise;
  return { placement, recovered: recovered.promise };
}

/** As `promise`; the code of its error is noted. */
async function noting(codes: unknown[], promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: { code: string }) => {
    codes.push(error.code);
    throw error;
  });
}

const lost = (): Error => Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_MEMBER_LOST' });

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
  const { mesh, store, records } = newCluster(4);
  const { placement, recovered } = await servingRun(mesh, store, records);
  mesh.takeover = async (leader) => {
    if (leader !== 4) throw lost();
    records[0] = record(1, 'recovered');
    store.values.set('kv/takeover/1', { value: '[[0,16383,"4"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  expect(mesh.leaders).toEqual([2, 3, 4]);
  await placement.close();
});

/** Loses server 1; the answers of the leaders of its takeover, in order, and who was an heir of each attempt. */
async function heirsOfAttempts(
  { mesh, store, records }: ReturnType<typeof newCluster>,
  answers: readonly unknown[],
): Promise<number[][]> {
  const { placement, recovered } = await servingRun(mesh, store, records);
  const heirs: number[][] = [];
  mesh.onTakeover = (body) => heirs.push(readShape(takeoverMessage, body).shares.map(({ member }) => member));
  mesh.takeover = async () => {
    const answer = answers[heirs.length - 1];
    if (answer !== undefined) return answer;
    records[0] = record(1, 'recovered');
    store.values.set('kv/takeover/1', { value: '[[0,16383,"2"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  await placement.close();
  return heirs;
}

const full = (...members: readonly number[]) => ({ full: members, reason: 'no room' });

it('heirs without room are left out of the next attempts, until nobody else is left', async () => {
  const cluster = newCluster(4);
  expect(await heirsOfAttempts(cluster, [full(3), full(2, 4), full(4)])).toEqual([
    [2, 3, 4],
    [2, 4],
    [2, 3, 4],
    [2, 3],
  ]);
});

it('a drained server gets slots where those that stay do not have room', async () => {
  const cluster = newCluster(4);
  cluster.store.values.set('kv/slots', {
    value: '[[0,5461,"1"],[5462,10922,"2"],[10923,16383,"4"]]',
    revision: 1,
  });
  cluster.store.values.set('kv/drained', { value: '[3]', revision: 1 });
  expect(await heirsOfAttempts(cluster, [full(2, 4)])).toEqual([[2, 4], [3]]);
});

it('the slots of a lost server go to servers that stay, and not to drained ones', async () => {
  const { mesh, store, records } = newCluster(4);
  store.values.set('kv/slots', { value: '[[0,5461,"1"],[5462,10922,"2"],[10923,16383,"4"]]', revision: 1 });
  store.values.set('kv/drained', { value: '[3]', revision: 1 });
  const { placement, recovered } = await servingRun(mesh, store, records);
  const heirs: number[] = [];
  mesh.onTakeover = (body) =>
    heirs.push(...readShape(takeoverMessage, body).shares.map(({ member }) => member));
  mesh.takeover = async () => {
    records[0] = record(1, 'recovered');
    store.values.set('kv/takeover/1', { value: '[[0,2730,"2"],[2731,5461,"4"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  expect(heirs).toEqual([2, 4]);
  await placement.close();
});

it('a server that comes before a takeover, and so gets a part of it, has its share afterwards', async () => {
  const { mesh, store, records } = newCluster(3);
  store.values.set('kv/slots', { value: '[[0,8191,"1"],[8192,16383,"2"]]', revision: 1 });
  const recovered = new Deferred<void>();
  const served = new Deferred<void>();
  const placement = start(mesh, store, records, {
    serving: () => served.resolve(),
    recovered: () => recovered.resolve(),
  });
  for (const id of [1, 2]) void mesh.register(id);
  await served.promise;
  let isHere = false;
  mesh.takeover = async () => {
    if (!isHere) {
      isHere = true;
      await mesh.register(3);
      throw lost();
    }
    records[0] = record(1, 'recovered');
    store.values.set('kv/takeover/1', { value: '[[0,4095,"2"],[4096,8191,"3"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered.promise;
  expect(store.values.get('kv/moving')?.value).toBe('true');
  await placement.close();
});

it('a new plan has the heirs forget what earlier attempts brought them, and is kept only then', async () => {
  const { mesh, store, records } = newCluster(3);
  const { placement, recovered } = await servingRun(mesh, store, records);
  const attempts: number[] = [];
  const abandonedBefore: number[] = [];
  const others: unknown[] = [];
  mesh.takeover = async (leader, takeover) => {
    attempts.push(takeover);
    // Looked at later: what fails here is tried again, for ever.
    others.push(await mesh.plan(leader, takeover + 1).catch(({ code }: { code: string }) => code));
    await mesh.plan(leader, takeover);
    abandonedBefore.push(mesh.abandoned.length);
    if (attempts.length < 3) throw lost();
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

it('slots that were handed over to an heir while an attempt began are not dropped there', async () => {
  const { mesh, store, records } = newCluster(3);
  const { placement, recovered } = await servingRun(mesh, store, records);
  const refused: unknown[] = [];
  mesh.takeover = async (leader, takeover) => {
    // The last commit of a hand-over from 1 to 3, after the takeover was ordered.
    const handedOver = '[[0,5000,"1"],[5001,5460,"3",9,0],[5461,10921,"2"],[10922,16383,"3"]]';
    if (mesh.leaders.length === 1) store.values.set('kv/slots', { value: handedOver, revision: 2 });
    await noting(refused, mesh.plan(leader, takeover));
    records[0] = record(1, 'recovered');
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  expect(refused).toEqual(['ERR_RDMC_KV_TAKEOVER_FAILED']);
  expect(mesh.abandoned).toEqual([]);
  await placement.close();
});

it('slots that a server without any got just before it was lost are recovered', async () => {
  const mesh = new FakeMesh([1, 2, 3]);
  const store = new FakeStore();
  const records = [1, 2].map((id) => record(id, 'live'));
  store.values.set('kv/slots', { value: '[[0,5461,"1"],[5462,10922,"2"],[10923,16383,"4"]]', revision: 1 });
  records.push(record(3, 'live'));
  let placement!: Placement;
  const recovered = new Promise<unknown>((resolve) => {
    placement = start(mesh, store, records, { recovered: resolve });
  });
  const ranges: unknown[] = [];
  const refused: unknown[] = [];
  mesh.onTakeover = (body) => {
    ranges.push(readShape(takeoverMessage, body).floors);
  };
  mesh.takeover = async (leader, takeover) => {
    const handedOver = '[[0,8190,"1"],[8191,8191,"3",9,7],[8192,16383,"2"]]';
    if (mesh.leaders.length === 1) store.values.set('kv/slots', { value: handedOver, revision: 2 });
    await noting(refused, mesh.plan(leader, takeover));
    records[2] = record(3, 'recovered');
    return { entries: 0, milliseconds: 0 };
  };
  // It never registers: it is lost with a log that does not have slots.
  mesh.lose(3);
  await mesh.register(1);
  await mesh.register(2);
  await recovered;
  expect(ranges).toEqual([[], [[8191, 8191, 7]]]);
  // Otherwise the log would have been given up, with the slots.
  expect(refused).toEqual(['ERR_RDMC_KV_TAKEOVER_FAILED']);
  await placement.close();
});

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
  const { mesh, store, records } = await formerCluster();
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
    mesh.lose(2);
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

it('another run goes on with a re-balancing that the run before has begun, and with no other one', async () => {
  const store = new FakeStore();
  const records = [1, 2, 3].map((id) => record(id, 'live'));
  store.values.set('kv/slots', { value: '[[0,8000,"1"],[8001,10000,"2"],[10001,16383,"3"]]', revision: 1 });
  const sources: number[][] = [];
  for (const isMoving of [false, true]) {
    store.values.set('kv/moving', { value: JSON.stringify(isMoving), revision: 1 });
    const mesh = new FakeMesh([1, 2, 3]);
    sources.push(mesh.sources);
    const placement = start(mesh, store, records, {});
    for (const id of [1, 2, 3]) await mesh.register(id);
    await placement.idle();
    if (isMoving) await expect.poll(() => mesh.sources).toEqual([1]);
    await placement.close();
  }
  expect(sources).toEqual([[], [1]]);
});

it('a table does not give slots to a server that was replaced while it was made', async () => {
  const { mesh, store, records } = await formerCluster();
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

it('an order to another run waits until the servers that run have found it', async () => {
  const { mesh, store, records } = await formerCluster();
  const placement = start(mesh, store, records, {});
  const drained = mesh.order({ op: 'drain', server: 3 });
  for (const id of [1, 2, 3]) await mesh.register(id);
  expect(await drained).toEqual({ drained: [3], isRepeated: false });
  await placement.close();
});

it('a table that the store did not allow after a hand-over is made later, although it says the same', async () => {
  const { mesh, store, records } = await formerCluster();
  const placement = start(mesh, store, records, {});
  for (const id of [1, 2, 3]) await mesh.register(id);
  await placement.idle();
  const put = store.put.bind(store);
  store.put = async (key, value, revision) => {
    // The next look at the store is the table's.
    if (key === 'kv/slots') store.failures = 1;
    return put(key, value, revision);
  };
  const body = { number: 1, ranges: [[7, 8]], logId: '1', floor: 0, isReady: false, target: 2 };
  const answer = await mesh.settle(1, body);
  expect(answer).toMatchObject({ outcome: 'kept' });
  await expect.poll(() => epochsOf(mesh).at(-1)).toBeGreaterThan((answer as { epoch: number }).epoch);
  // Once: a server that registers later gets the same one.
  const { length } = mesh.told;
  await mesh.register(3);
  await placement.idle();
  expect(mesh.told).toHaveLength(length);
  expect(mesh.toldLate).toEqual([[3, mesh.told.at(-1)]]);
  await placement.close();
});

it.each(['kept', 'moved'])(
  'a source that asks another run before all servers are there, and hears %s, does not take their slots',
  async (outcome) => {
    const { mesh, store, records } = await formerCluster();
    const placement = start(mesh, store, records, {});
    await mesh.register(1);
    await placement.idle();
    const slot = outcome === 'kept' ? 7 : 16_383;
    const body = { number: 1, ranges: [[slot, slot]], logId: '1', floor: 0, isReady: true, target: 3 };
    const answer = await mesh.settle(1, body);
    expect(answer).toMatchObject({ outcome });
    await new Promise(setImmediate);
    for (const id of [2, 3]) await mesh.register(id);
    await expect.poll(() => epochsOf(mesh).at(-1)).toBeGreaterThan((answer as { epoch: number }).epoch);
    await placement.idle();
    const owners = mesh.told
      .flatMap((told) => readShape(tableMessage, told).ranges)
      .map(([, , owner]) => owner);
    expect(new Set(owners)).toEqual(new Set([1, 2, 3]));
    await placement.close();
  },
);

it('a source that asks a second time gets a table above the second answer, although it says the same', async () => {
  const { mesh, store, records } = await formerCluster();
  const placement = start(mesh, store, records, {});
  for (const id of [1, 2, 3]) await mesh.register(id);
  await placement.idle();
  // Slot 16383 is server 3's: for server 1 it has moved.
  const body = { number: 1, ranges: [[16_383, 16_383]], logId: '1', floor: 0, isReady: true, target: 3 };
  for (let time = 0; time < 2; time += 1) {
    const answer = await mesh.settle(1, body);
    expect(answer).toMatchObject({ outcome: 'moved' });
    await expect.poll(() => epochsOf(mesh).at(-1)).toBeGreaterThan((answer as { epoch: number }).epoch);
  }
  await placement.close();
});

it('a server that was replaced while it registered is not registered', async () => {
  const { mesh, store, records } = await formerCluster();
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
  const { mesh, store, records } = newCluster(3);
  const released = new Deferred<void>();
  const outcomes: unknown[] = [];
  let late: Promise<unknown> | undefined;
  const { placement, recovered } = await servingRun(mesh, store, records);
  mesh.takeover = async (leader, takeover) => {
    if (mesh.leaders.length === 2) {
      mesh.forgetting = () => released.promise;
      late = mesh.plan(leader, takeover).catch(({ code }: { code: string }) => code);
    }
    if (mesh.leaders.length < 3) throw lost();
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

it('many servers are asked at once without a warning of a leak', async () => {
  const warned = vi.spyOn(process, 'emitWarning');
  const { mesh, store, records } = newCluster(20);
  const { placement, recovered } = await servingRun(mesh, store, records);
  mesh.takeover = async () => {
    records[0] = record(1, 'recovered');
    store.values.set('kv/takeover/1', { value: '[[0,16383,"2"]]', revision: 1 });
    return { entries: 0, milliseconds: 0 };
  };
  mesh.lose(1);
  await recovered;
  expect(mesh.asked).toBeGreaterThanOrEqual(19);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
  await placement.close();
});
