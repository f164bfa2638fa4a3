import { until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { DrainedServers } from '../src/handover/drained-servers.js';
import { retireInTurn } from '../src/handover/retire-in-turn.js';
import { RETIRE_SPREAD_MS } from '../src/limits.js';

/** The servers that have begun, by one of several that is drained. */
function start(count: number, replicas = 0) {
  const servers = Array.from({ length: count }, (_, index) => count - index);
  const lost = new Set<number>();
  const begun: number[] = [];
  const waits: { ms: number; go: () => void }[] = [];
  const wait = (ms: number): Promise<void> => new Promise((go) => waits.push({ ms, go }));
  const all = servers.map((self) => {
    const others = (): number[] => servers.filter((id) => id !== self && !lost.has(id));
    const drained = new DrainedServers({ others, replicas });
    const { signal: ended } = new AbortController();
    retireInTurn({ self, drained, servers: () => servers, retire: () => begun.push(self), ended, wait });
    return drained;
  });
  const update = (members: readonly number[]): void => {
    for (const each of all) each.update(members, new Set());
  };
  /** All servers lose it. */
  const lose = (member: number): void => {
    lost.add(member);
    for (const each of all) each.look();
  };
  const restore = (member: number): void => {
    lost.delete(member);
    for (const each of all) each.look();
  };
  return { all, update, lose, restore, begun, waits };
}

it('each server waits another time, and together not too long', () => {
  const { update, waits: all } = start(40);
  update([3]);
  const waits = all.map(({ ms }) => ms);
  expect(new Set(waits).size).toBe(39);
  expect(Math.min(...waits)).toBe(0);
  expect(Math.max(...waits)).toBeLessThan(RETIRE_SPREAD_MS);
});

it('a server that is wanted again keeps the replicas of those that did not begin', async () => {
  const { update, begun, waits } = start(4);
  update([2]);
  waits.sort((a, b) => a.ms - b.ms);
  waits[0]!.go();
  await until(() => begun.length > 0);
  expect(begun).toEqual([1]);
  update([]);
  for (const { go } of waits) go();
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([1]);
});

it('where too few others are connected, drained servers are backups, and keep their replicas', async () => {
  const { all, update, lose, restore, begun, waits } = start(4, 2);
  const goAll = async (): Promise<void> => {
    for (const { go } of waits.splice(0)) go();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const backups = (): readonly number[] => all.at(-1)!.backupsOf([2, 3, 4]);
  update([4]);
  expect(backups()).toEqual([2, 3]);
  lose(3);
  expect(backups()).toEqual([2, 3, 4]);
  // It was not needed when these turns began. The server that is lost does not know that.
  await goAll();
  expect(begun).toEqual([3]);
  restore(3);
  expect(backups()).toEqual([2, 3]);
  await goAll();
  expect(begun.sort()).toEqual([1, 2, 3]);
});
