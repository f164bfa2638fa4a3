/* A network whose racks share an uplink: hybrid against the flat pipeline, on the schedules themselves. */
import { describe, expect, it } from 'vitest';
import { type Algorithm, createSchedule, type Schedule } from '../src/index.js';

/** As completionTime, but a block between racks also occupies both racks' uplinks, for `uplinkCost`. */
function timeOver(schedule: Schedule, racks: readonly number[], uplinkCost: number): number {
  const holds = new Map<string, number>();
  const ports = new Map<string, number>();
  let last = 0;
  for (const { from, to, block } of schedule.transfers()) {
    const used = [`send ${from}`, `receive ${to}`];
    const crosses = racks[from] !== racks[to];
    if (crosses) used.push(`up ${racks[from]}`, `down ${racks[to]}`);
    const free = Math.max(holds.get(`${from} ${block}`) ?? 0, ...used.map((port) => ports.get(port) ?? 0));
    const end = free + (crosses ? uplinkCost : 1);
    for (const port of used) ports.set(port, end);
    holds.set(`${to} ${block}`, end);
    last = Math.max(last, end);
  }
  return last;
}

function times(racks: number, size: number, uplinkCost: number): { flat: number; hybrid: number } {
  const ids = Array.from({ length: racks * size }, (_, rank) => Math.floor(rank / size));
  const time = (algorithm: Algorithm) =>
    timeOver(createSchedule({ algorithm, nodes: ids.length, blocks: 100, racks: ids }), ids, uplinkCost);
  return { flat: time('binomial-pipeline'), hybrid: time('hybrid') };
}

describe('racks that share an uplink', () => {
  it.each([
    [2, 8],
    [3, 5],
    [4, 4],
    [4, 8],
    [8, 8],
  ])('hybrid beats the flat pipeline among %i racks of %i by half and more', (racks, size) => {
    for (const uplinkCost of [1, 2, 4]) {
      const { flat, hybrid } = times(racks, size, uplinkCost);
      expect(flat / hybrid).toBeGreaterThan(1.5);
    }
  });

  it('has the times that the README names', () => {
    expect(times(4, 4, 1)).toEqual({ flat: 256, hybrid: 107 });
    expect(times(4, 4, 2)).toEqual({ flat: 460, hybrid: 210 });
  });
});
