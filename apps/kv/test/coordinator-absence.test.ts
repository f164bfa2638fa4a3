/** What the coordinator does after it was stopped or cut off, when it does not know which servers run. */
import { Deferred } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { LogRecord } from '@rdmc/tailwind/coordinator';
import { until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Absences, isGone, isMinority } from '../src/cluster/absences.js';
import { tableMessage } from '../src/cluster/messages.js';
import type { PlacementEvents } from '../src/cluster/placement-events.js';
import { EVIDENCE_MS } from '../src/limits.js';
import { epochsOf, FakeMesh, FakeStore, NEVER_MS, record, start } from './support/fake-mesh.js';

/** A coordinator whose servers all serve. Takeovers succeed, and give all slots to the leader. */
async function serving(count: number, events: PlacementEvents = {}, returnMs = NEVER_MS) {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  const [mesh, store] = [new FakeMesh(ids), new FakeStore()];
  const records = ids.map((id) => record(id, 'live'));
  const taken: number[] = [];
  mesh.onTakeover = (body) => {
    const { logId } = body as { logId: string };
    taken.push(Number(logId));
    records[Number(logId) - 1] = record(Number(logId), 'recovered');
    const leader = mesh.leaders.at(-1);
    store.values.set(`kv/takeover/${logId}`, { value: `[[0,16383,"${leader}"]]`, revision: 1 });
  };
  const served = new Deferred<void>();
  const placement = start(mesh, store, records, { ...events, serving: () => served.resolve() }, { returnMs });
  onTestFinished(() => placement.close());
  for (const id of ids) void mesh.register(id);
  await served.promise;
  return { mesh, store, records, taken, placement };
}

const back = async (mesh: FakeMesh, id: number): Promise<void> => {
  mesh.heal(id);
  await mesh.register(id);
};

describe('a coordinator that was away', () => {
  it('takes nothing over, changes no table, and tells the table to each server that is back', async () => {
    const { mesh, taken } = await serving(3);
    const told = mesh.told.length;
    for (const id of [1, 2, 3]) mesh.cut(id);
    for (const id of [1, 2, 3]) await back(mesh, id);
    await until(() => mesh.toldLate.length === 3);
    expect([taken, mesh.told.length]).toEqual([[], told]);
    expect(mesh.toldLate.map(([member]) => member)).toEqual([1, 2, 3]);
    expect(epochsOf(mesh).at(-1)).toBe(readShape(tableMessage, mesh.toldLate[0]![1]).epoch);
  });

  it('recovers the log of a server that died meanwhile when the others are back', async () => {
    const { mesh, taken } = await serving(4);
    for (const id of [1, 2, 3]) mesh.cut(id);
    mesh.lose(4);
    await back(mesh, 1);
    const asked = mesh.asked;
    await until(() => mesh.asked > asked + 1);
    // Servers 2 and 3 run: they are to be heirs, too.
    expect(taken).toEqual([]);
    await back(mesh, 2);
    await back(mesh, 3);
    await until(() => taken.length > 0);
    expect(taken).toEqual([4]);
  });

  it('does not wait longer than that for servers that are cut off, and does not take those over', async () => {
    const { mesh, taken } = await serving(4, {}, 1);
    mesh.cut(3);
    mesh.lose(4);
    await until(() => taken.length > 0);
    const { asked } = mesh;
    await until(() => mesh.asked > asked + 1);
    expect(taken).toEqual([4]);
    mesh.end(3);
    await until(() => taken.length > 1);
    expect(taken).toEqual([4, 3]);
  });

  it('takes nothing over while its part of the network has fewer servers than the rest', async () => {
    const failed: string[] = [];
    const { mesh, taken } = await serving(5, { failed: ({ code }) => failed.push(code) }, 1);
    mesh.reaches = (witness, { member }) => witness <= 2 === member <= 2;
    for (const id of [3, 4, 5]) mesh.cut(id);
    const { asked } = mesh;
    await until(() => mesh.asked > asked + 4);
    expect([taken, failed]).toEqual([[], ['ERR_RDMC_KV_MINORITY']]);
    // Server 3 is on this side again, and the others have ended.
    mesh.reaches = (_, { member }) => member <= 3;
    await back(mesh, 3);
    await until(() => taken.length === 2);
    expect(taken.sort()).toEqual([4, 5]);
  });

  it('gives all slots out where it lost every server while it gave them out first', async () => {
    const [mesh, store] = [new FakeMesh([1, 2]), new FakeStore()];
    const records = [1, 2].map((id) => record(id, 'live'));
    const served = new Deferred<void>();
    const placement = start(mesh, store, records, { serving: () => served.resolve() });
    onTestFinished(() => placement.close());
    await mesh.register(1);
    await placement.idle();
    const read = store.get.bind(store);
    let reads = 0;
    store.get = async (key) => {
      if (key === 'kv/slots') reads += 1;
      // The first read is that of the roll call.
      if (key === 'kv/slots' && reads === 2) for (const id of [1, 2]) mesh.cut(id);
      return read(key);
    };
    await mesh.register(2);
    await placement.idle();
    expect(store.values.get('kv/slots')!.value).toBe('[[0,8191,"1"],[8192,16383,"2"]]');
    for (const id of [1, 2]) await back(mesh, id);
    await served.promise;
  });

  it('does not register a server whose takeover is being tried', async () => {
    const { mesh, records } = await serving(3);
    const asked: unknown[] = [];
    const take = mesh.onTakeover;
    mesh.takeover = async () => {
      // The log lives as long as no recovery has begun.
      const recovered = records[2]!;
      records[2] = record(3, 'live');
      mesh.heal(3);
      asked.push(await mesh.register(3).catch(({ code }: { code: string }) => code));
      records[2] = recovered;
      return { entries: 0, milliseconds: 0 };
    };
    mesh.onTakeover = take;
    mesh.lose(3);
    await until(() => asked.length > 0);
    expect(asked).toEqual(['ERR_RDMC_KV_TAKEOVER_FAILED']);
  });
});

describe('an heir that was cut off while an attempt failed', () => {
  it('forgets what it got before it is an heir again', async () => {
    const { mesh, taken, placement } = await serving(4, {}, 1);
    const recover = mesh.onTakeover;
    mesh.onTakeover = () => {};
    const order: string[] = [];
    let first = 0;
    mesh.takeover = async (leader, takeover) => {
      if (first === 0) {
        first = takeover;
        await mesh.plan(leader, takeover);
        mesh.cut(3);
        throw Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_MEMBER_LOST' });
      }
      await mesh.plan(leader, takeover);
      order.push('planned');
      recover({ logId: '4' });
      return { entries: 0, milliseconds: 0 };
    };
    mesh.lose(4);
    await until(() => taken.length > 0);
    const told = (id: number) => mesh.abandoned.filter(({ member }) => member === id);
    expect([told(1).length, told(2).length, told(3).length]).toEqual([1, 1, 0]);
    await back(mesh, 3);
    await placement.idle();
    expect(told(3).map(({ takeover }) => takeover)).toEqual([first]);
    expect(order).toEqual(['planned']);
  });

  it('does not drop what the next attempt brings it: that attempt must not go on', async () => {
    const { mesh, taken } = await serving(3, {}, 1);
    const recover = mesh.onTakeover;
    mesh.onTakeover = () => {};
    const plans: unknown[] = [];
    mesh.takeover = async (leader, takeover) => {
      if (plans.length === 0) {
        plans.push('failed');
        await mesh.plan(leader, takeover);
        throw Object.assign(new Error('no'), { code: 'ERR_RDMC_KV_MEMBER_LOST' });
      }
      // It is an heir of this attempt as well, and its connection with the coordinator breaks.
      const other = leader === 1 ? 2 : 1;
      if (plans.length === 1) mesh.cut(other);
      const planned = await mesh.plan(leader, takeover).catch(({ code }: { code: string }) => ({ code }));
      plans.push(planned);
      if (planned !== undefined) throw planned;
      recover({ logId: '3' });
      return { entries: 0, milliseconds: 0 };
    };
    mesh.lose(3);
    await until(() => taken.length > 0);
    expect(plans).toEqual(['failed', { code: 'ERR_RDMC_KV_MEMBER_LOST' }, undefined]);
  });
});

describe('evidence', () => {
  it.each([
    ['the coordinator reaches it', true, [false], false],
    ['nobody was asked', false, [], false],
    ['a server reaches it', false, [false, true], false],
    ['a server has not answered', false, [false, undefined], false],
    ['no server reaches it', false, [false, false], true],
  ])('%s', (_name, isReachedHere, testimonies, expected) => {
    expect(isGone(isReachedHere, testimonies)).toBe(expected);
  });

  it('of a smaller part of the network does not count', () => {
    expect([isMinority(2, 3), isMinority(2, 2), isMinority(3, 2)]).toEqual([true, false, false]);
  });

  it.each([
    [EVIDENCE_MS - 1, ['3']],
    [EVIDENCE_MS, []],
  ])('that came after %i ms counts for the logs %o', async (tookMs, gone) => {
    let now = 0;
    const mesh = new FakeMesh([1, 2, 3]);
    mesh.lose(3);
    mesh.reaches = (_, { member }) => {
      now = tookMs;
      return member !== 3;
    };
    const ended = new AbortController().signal;
    const absences = new Absences({
      mesh: mesh as never,
      orders: mesh as never,
      returnMs: NEVER_MS,
      ended,
      onCheck: () => {},
      clock: () => now,
    });
    const logs: LogRecord[] = [1, 2, 3].map((id) => record(id, 'live'));
    const living = new Map([['1', 1]]);
    const absence = await absences.of(logs, new Set(['1', '2', '3']), living);
    absences.close();
    expect([...absence.dead]).toEqual(gone);
    expect(absence.isExpected).toBe(true);
  });
});
