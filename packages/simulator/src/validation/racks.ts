import { type Algorithm, completionTime, createSchedule, rackTraffic } from '@rdmc/schedule';
import type { Check } from './check.js';
import { ideal, runIdeal } from './ideal.js';

/** Racks of `size` members in a row. */
export function rackList(racks: number, size: number): number[] {
  return Array.from({ length: racks * size }, (_, rank) => Math.floor(rank / size));
}

/** The time, and the blocks that enter and leave each rack, are those of the schedule. */
export function rackChecks(
  algorithm: Algorithm,
  { racks, blocks }: { readonly racks: readonly number[]; readonly blocks: number },
): Check[] {
  const nodes = racks.length;
  const schedule = createSchedule({ algorithm, nodes, blocks, racks });
  // Uplinks as wide as all ports together do not slow anything down.
  const cluster = ideal({ uplinkGbitPerMember: 8 });
  const { microseconds, racks: found } = runIdeal({ nodes, blocks, algorithm, racks, cluster });
  const what = `${algorithm}, ${nodes} members in ${new Set(racks).size} racks, ${blocks} blocks`;
  return [
    { what: `${what}: time`, expected: completionTime(schedule), found: microseconds, relation: 'equal' },
    { what: `${what}: steps`, expected: schedule.steps, found: microseconds, relation: 'most' },
    ...rackTraffic(schedule).flatMap(({ rack, entering, leaving }): Check[] => {
      const crossings = found.find((crossing) => crossing.rack === rack)!;
      return [
        { what: `${what}: into ${rack}`, expected: entering, found: crossings.entering, relation: 'equal' },
        { what: `${what}: out of ${rack}`, expected: leaving, found: crossings.leaving, relation: 'equal' },
      ];
    }),
  ];
}
