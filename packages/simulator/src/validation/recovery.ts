import { idealCluster } from '../presets.js';
import { simulateRecovery } from '../recovery/simulate-recovery.js';
import type { Check } from './check.js';

const OBJECT_BYTES = 1000;
const OBJECTS_PER_SEGMENT = 1000;
/** Of each server, in the closed forms. */
const SEGMENTS = 5;
const GBIT = 1e6;
const NO_COSTS = { plan: 0, scan: 0, replay: 0 };

/** What one resource gives, for a recovery in which all others take nearly no time. */
function alone(servers: number, more: Partial<Parameters<typeof simulateRecovery>[0]>): number {
  return simulateRecovery({
    cluster: idealCluster(GBIT),
    servers,
    objects: OBJECTS_PER_SEGMENT * SEGMENTS * servers,
    objectBytes: OBJECT_BYTES,
    segmentBytes: OBJECT_BYTES * OBJECTS_PER_SEGMENT,
    // Any backup can serve any segment, so that the shares are equal.
    replicas: servers,
    costs: NO_COSTS,
    ...more,
  }).microseconds;
}

/** The links carry every byte of the log to its heir and then to each replica, at most. */
function between(what: string, found: number, expected: number, servers: number): Check[] {
  const bytes = OBJECT_BYTES * OBJECTS_PER_SEGMENT * SEGMENTS * servers;
  const onLinks = (bytes * (1 + servers)) / (GBIT * 125);
  return [
    { what, found, expected, relation: 'least' },
    { what, found, expected: expected + onLinks, relation: 'most' },
  ];
}

/** Heirs that only replay: each has an equal part of the objects. */
export function replayChecks(servers: number): Check[] {
  const replay = 7;
  const found = alone(servers, { costs: { ...NO_COSTS, plan: 1000, replay } });
  const expected = 1000 + OBJECTS_PER_SEGMENT * SEGMENTS * replay;
  return between(`replay by ${servers} heirs`, found, expected, servers);
}

/** Disks that only read: each has an equal part of the segments. */
export function diskChecks(servers: number): Check[] {
  const found = alone(servers, { diskMegabytesPerSecond: 100 });
  const expected = (OBJECT_BYTES * OBJECTS_PER_SEGMENT * SEGMENTS) / 100;
  return between(`the disks of ${servers} backups`, found, expected, servers);
}

/** Two million objects, 37 segments: no server has more than 1.3 times its share, and twice the servers are 1.6 times as fast. */
export function balanceChecks(sizes: readonly number[]): Check[] {
  const reports = sizes.map((servers) => simulateRecovery({ cluster: 'tailwind', servers, objects: 2e6 }));
  const shares = reports.flatMap(({ mostOverMean: { scanned, pulled, busy } }, index) =>
    Object.entries({ scanned, pulled, busy }).map(
      ([name, found]): Check => ({
        what: `${name} by one of ${sizes[index]} servers, over the mean`,
        expected: 1.3,
        found,
        relation: 'most',
      }),
    ),
  );
  const ratios = reports.slice(1).map(
    ({ microseconds }, index): Check => ({
      what: `recovery by ${sizes[index]} servers over ${sizes[index + 1]}`,
      expected: 1.6,
      found: reports[index]!.microseconds / microseconds,
      relation: 'least',
    }),
  );
  return [...shares, ...ratios];
}
