import { rejection } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { PlacementState } from '../src/cluster/placement-state.js';
import { Floors, floorRanges, isReplayed, type Tenure, type TenureRange } from '../src/cluster/tenure.js';
import { SLOTS } from '../src/limits.js';
import { FakeStore, record } from './support/fake-mesh.js';

function tenure(logId: string, epoch = 0, floor = 0): Tenure {
  return { logId, epoch, floor };
}

function slots(...parts: readonly [count: number, tenure: Tenure][]): Tenure[] {
  return parts.flatMap(([count, each]) => Array<Tenure>(count).fill(each));
}

it('an entry is replayed where its log has the slot, and it was written under the present tenure', () => {
  const present = tenure('7', 3, 100);
  expect(isReplayed(present, '7', 101)).toBe(true);
  expect(isReplayed(present, '7', 100)).toBe(false);
  expect(isReplayed(present, '8', 101)).toBe(false);
});

it('the floors of a log are those of its slots, and no entry of another slot is replayed', () => {
  const tenures = slots(
    [10, tenure('7')],
    [5, tenure('8', 2, 40)],
    [5, tenure('7', 3, 60)],
    [5, tenure('7', 9, 60)],
  );
  expect(floorRanges(tenures, '7')).toEqual([
    [0, 9, 0],
    [15, 24, 60],
  ]);
  const floors = Floors.of(tenures, '7');
  for (const [slot, each] of tenures.entries()) {
    for (const version of [1, 40, 41, 60, 61]) {
      expect(floors.isReplayed(slot, version), `${slot} ${version}`).toBe(isReplayed(each, '7', version));
    }
  }
  expect(floors.isReplayed(SLOTS - 1, Number.MAX_SAFE_INTEGER)).toBe(false);
});

it('a slot has the tenure of the plan whose recovery has ended, and else that of its record', async () => {
  const store = new FakeStore();
  const state = new PlacementState(store);
  store.values.set('kv/slots', { value: '[[0,99,"1"],[100,16383,"2",5,33]]', revision: 1 });
  const logs = [record(1, 'recovering'), record(2, 'live')];
  await state.plan('1', [[0, 99, '2', 6, 44]], async () => logs);
  expect((await state.storedTenures(logs))![0]).toEqual(tenure('1'));
  const later = (await state.storedTenures([record(1, 'recovered'), record(2, 'live')]))!;
  expect([later[99], later[100]]).toEqual([tenure('2', 6, 44), tenure('2', 5, 33)]);
  // Epochs and floors of 0 are not written.
  await state.plan('1', [[0, 99, '2', 0, 0]], async () => logs);
  expect(store.values.get('kv/takeover/1')!.value).toBe('[[0,99,"2"]]');
});

it('a takeover whose slots were handed over meanwhile does not get a plan', async () => {
  const store = new FakeStore();
  const state = new PlacementState(store);
  store.values.set('kv/slots', { value: '[[0,99,"1"],[100,16383,"2",5,33]]', revision: 1 });
  const plan = state.plan('1', [[0, 100, '3', 6, 0]], async () => [record(1, 'recovering')]);
  expect(await rejection(plan)).toMatchObject({ code: 'ERR_RDMC_KV_TAKEOVER_FAILED' });
  expect(store.values.has('kv/takeover/1')).toBe(false);
});

it('a takeover of a log that got slots meanwhile does not get a plan: these would not have an owner any more', async () => {
  const store = new FakeStore();
  const state = new PlacementState(store);
  store.values.set('kv/slots', { value: '[[0,99,"1"],[100,16383,"2",5,33]]', revision: 1 });
  const dead = async () => [record(1, 'recovering')];
  for (const slots of [[[0, 98, '3', 6, 0]], [[1, 99, '3', 6, 0]], []] satisfies TenureRange[][]) {
    expect(await rejection(state.plan('1', slots, dead))).toMatchObject({
      code: 'ERR_RDMC_KV_TAKEOVER_FAILED',
    });
    expect(await rejection(state.requireLog('1', slots, dead))).toMatchObject({
      code: 'ERR_RDMC_KV_TAKEOVER_FAILED',
    });
  }
  expect(store.values.has('kv/takeover/1')).toBe(false);
  await state.requireLog('3', [], dead);
});

/** Slot 5 from log 1 to log 2. */
const COMMIT = { slots: [5], epochs: [0], source: '1', target: '2', floor: 70 };

function twoLogs(first = 'live', second = 'live') {
  const store = new FakeStore();
  store.values.set('kv/slots', { value: '[[0,16383,"1"]]', revision: 1 });
  const logs = async () => [record(1, first), record(2, second)];
  return { state: new PlacementState(store), logs };
}

it('a commit replaces the epoch that it names, once', async () => {
  const { state, logs } = twoLogs();
  const epoch = await state.commit(COMMIT, logs);
  const tenures = (await state.storedTenures(await logs()))!;
  expect([tenures[4], tenures[5], tenures[6]]).toEqual([tenure('1'), tenure('2', epoch, 70), tenure('1')]);
  expect(await rejection(state.commit(COMMIT, logs))).toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  expect(await state.keep([5], '1', logs)).toMatchObject({ outcome: 'moved' });
  expect((await state.numbered(logs)).epoch).toBeGreaterThan(epoch);
});

it('a hand-over that was cancelled cannot be committed any more', async () => {
  const { state, logs } = twoLogs();
  const { outcome, epoch } = await state.keep([5], '1', logs);
  expect(outcome).toBe('kept');
  expect((await state.storedTenures(await logs()))![5]).toEqual(tenure('1', epoch, 0));
  expect(await rejection(state.commit(COMMIT, logs))).toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
});

it.each([
  ['recovering', 'live'],
  ['live', 'recovered'],
])('slots do not go from a log that is %s to one that is %s', async (source, target) => {
  const { state, logs } = twoLogs(source, target);
  expect(await rejection(state.commit(COMMIT, logs))).toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
});

it('what is remembered is what the store has, after each kind of change, also of another process', async () => {
  const store = new FakeStore();
  store.values.set('kv/slots', { value: '[[0,16383,"1"]]', revision: 1 });
  const records = [record(1, 'live'), record(2, 'live'), record(3, 'live')];
  const logs = async () => records;
  const state = new PlacementState(store);
  const other = new PlacementState(store);
  const changes: (() => Promise<unknown>)[] = [
    () => state.commit(COMMIT, logs),
    () => state.keep([6], '1', logs),
    () => other.commit({ ...COMMIT, slots: [9] }, logs),
    () => state.plan('2', [[5, 5, '3', 90, 0] as const, [9, 9, '1', 90, 4] as const], logs),
    async () => records.splice(1, 1, record(2, 'recovered')),
    () => state.commit({ slots: [5], epochs: [90], source: '3', target: '1', floor: 8 }, logs),
    () => other.plan('3', [], logs),
    () => other.keep([9], '1', logs),
  ];
  for (const change of changes) {
    await change();
    const stored = await new PlacementState(store).storedTenures(records);
    expect(await state.storedTenures(records)).toEqual(stored);
    expect((await state.numbered(logs)).tenures).toEqual(stored);
  }
  const { 5: fifth, 9: ninth } = (await state.storedTenures(records))!;
  expect([fifth?.logId, ninth?.logId]).toEqual(['1', '1']);
});

it('plans of recoveries that ended are folded into the layout: the state does not grow with them', async () => {
  const store = new FakeStore();
  store.values.set('kv/slots', { value: '[[0,16383,"1"]]', revision: 1 });
  const records = [record(1, 'live')];
  const logs = async () => records;
  const state = new PlacementState(store);
  const halves = (log: number): TenureRange[] => [
    [0, 8191, String(log), 2 * log, 7],
    [8192, 16383, String(log), 2 * log + 1, 8],
  ];
  // Each log is recovered by the next one.
  for (let log = 2; log < 9; log += 1) {
    records.push(record(log, 'live'));
    await state.plan(String(log - 1), halves(log), logs);
    records[log - 2] = record(log - 1, 'recovered');
    const before = await new PlacementState(store).storedTenures(records);
    await state.fold(logs);
    expect(await new PlacementState(store).storedTenures(records)).toEqual(before);
    expect(before![0]).toEqual(tenure(String(log), 2 * log, 7));
    expect([...(await store.list('kv/takeover/')).values()].every(({ value }) => value === '[]')).toBe(true);
  }
});

it('the plan of a recovery that has not ended is not folded; slots that a plan left out stay where they are', async () => {
  const store = new FakeStore();
  store.values.set('kv/slots', { value: '[[0,99,"1"],[100,16383,"2"]]', revision: 1 });
  const unfinished = '[[100,16383,"3"]]';
  store.values.set('kv/takeover/1', { value: '[[0,98,"3"]]', revision: 1 });
  store.values.set('kv/takeover/2', { value: unfinished, revision: 1 });
  const records = [record(1, 'recovered'), record(2, 'recovering'), record(3, 'live')];
  const before = (await new PlacementState(store).storedTenures(records))!;
  expect([before[98], before[99], before[100]]).toEqual([tenure('3'), tenure('1'), tenure('2')]);
  await new PlacementState(store).fold(async () => records);
  expect(await new PlacementState(store).storedTenures(records)).toEqual(before);
  expect(store.values.get('kv/takeover/2')!.value).toBe(unfinished);
  records[1] = record(2, 'recovered');
  expect((await new PlacementState(store).storedTenures(records))![100]).toEqual(tenure('3'));
});
