import { noEtcd } from '@rdmc/testing/etcd';
import { expect, it } from 'vitest';
import { GROUP_NEEDS_ROOT, GROUP_SCENARIOS, type GroupScenario } from '../src/group/group-scenarios.js';
import { KV_NEEDS_ROOT, KV_SCENARIOS, type KvScenario, NEEDS_ETCD } from '../src/kv/kv-plan.js';
import { judge } from '../src/run/judge.js';
import { NEEDS_ROOT, SCENARIOS } from '../src/run/plan.js';
import { groupOfProcesses, kvCluster, storeOverLog } from '../src/subjects.js';

/** The seed of the first run. Every change is tested with the same seeds; `npm run test:chaos` uses new ones. */
const firstSeed = Number(process.env.RDMC_TEST_SEED ?? 1);
const isRoot = process.getuid?.() === 0;

/** The command that repeats a failed run. */
function again(seed: number, scenario: string, subject = ''): string {
  return `again: npm run test:chaos -- ${subject}--runs 1 --seed ${seed} --scenario ${scenario}`;
}

/**
 * Left out, unless RDMC_TEST_LONG=1: `kv-upgrade`, `kv-twin` and `kv-drain-death`, which `npm run test:smoke` runs; `kv-twin-stopped`,
 * `kv-twin-cut`, `kv-remove` and `kv-full-disk`, which wait for a silence or move all slots; and faults that other runs contain.
 * `primary` is a part of `primary-and-backups`, `kv-server` of `kv-servers`; `kv-power` ends all processes as `coordinator` and `power-failure` do. In `kv-move-deaths` slots move, and
 * processes die, as in `kv-hand-over`, `kv-join` and `kv-drain`; in `kv-move-standby` coordinators follow each other, as in
 * `kv-standby`. `kv-partition` and `kv-move-partition` take half a minute. Tests of @rdmc/kv have the others: `cluster` loses two servers
 * at once, `processes` the coordinator, alone and with a server, `hand-over` has a server that returns, `fenced` one that is stopped.
 * `group-agreement` loses members as `group-member`, `group-root` and `group-members` do, and goes on; `group-partition` cuts links as
 * `group-cut` and `group-one-way` do. `npm run test:smoke` runs one of the others.
 */
const LEFT_OUT: readonly string[] =
  process.env.RDMC_TEST_LONG === '1'
    ? []
    : [
        ...['primary', 'power-failure', 'coordinator', 'kv-server', 'kv-servers', 'kv-stopped', 'kv-return'],
        ...['kv-coordinator', 'kv-coordinator-server', 'kv-hand-over', 'kv-join', 'kv-drain'],
        ...['kv-standby', 'kv-partition', 'kv-move-partition', 'kv-upgrade'],
        ...['kv-twin', 'kv-twin-stopped', 'kv-twin-cut', 'kv-remove', 'kv-drain-death', 'kv-full-disk'],
        ...[
          'group-calm',
          'group-member',
          'group-root',
          'group-members',
          'group-minority',
          'group-cut',
          'group-one-way',
          'group-path',
        ],
      ];

/**
 * Places of seeds after the first one, for scenarios that do not have the place of their number: small clusters, since most
 * of a run is the start of its processes, and in `kv-servers` two servers that die at once. The groups of these have a total order.
 */
const PLACES: Readonly<Record<string, number>> = {
  coordinator: 7,
  'kv-servers': 4,
  'kv-power': 5,
  'kv-takeover': 0,
  'kv-upgrade': 2,
  'group-agreement': 7,
  'group-torn': 12,
  'group-stopped': 11,
  'group-partition': 6,
};

/** Each scenario once. */
const runs = Array.from({ length: Number(process.env.RDMC_CHAOS_RUNS ?? SCENARIOS.length) }, (_, run) => {
  const scenario = SCENARIOS[run % SCENARIOS.length]!;
  const place = run < SCENARIOS.length ? (PLACES[scenario] ?? run) : run;
  return { seed: firstSeed + place, scenario, needsRoot: NEEDS_ROOT.includes(scenario) };
});

it.each(runs.filter(({ scenario, needsRoot }) => (isRoot || !needsRoot) && !LEFT_OUT.includes(scenario)))(
  'seed $seed: $scenario',
  async ({ seed, scenario }) => {
    const { failure, file, acknowledged } = await judge(await storeOverLog(seed, [scenario]));
    expect(failure && `${failure}\nhistory: ${file}\n${again(seed, scenario)}`).toBeUndefined();
    expect(acknowledged).toBeGreaterThan(0);
  },
);

const kvRuns = KV_SCENARIOS.map((scenario, run) => ({
  seed: firstSeed + (PLACES[scenario] ?? run),
  scenario,
}));

const isLeftOut = (scenario: KvScenario): boolean =>
  LEFT_OUT.includes(scenario) ||
  (noEtcd !== false && NEEDS_ETCD.includes(scenario)) ||
  (!isRoot && KV_NEEDS_ROOT.includes(scenario));

it.each(kvRuns.filter(({ scenario }) => !isLeftOut(scenario)))(
  'seed $seed: $scenario',
  async ({ seed, scenario }) => {
    const { failure, file, acknowledged } = await judge(kvCluster(seed, [scenario]));
    expect(failure && `${failure}\nhistory: ${file}\n${again(seed, scenario, '--kv ')}`).toBeUndefined();
    expect(acknowledged).toBeGreaterThan(0);
  },
);

const groupRuns = GROUP_SCENARIOS.map((scenario, run) => ({
  seed: firstSeed + (PLACES[scenario] ?? run),
  scenario,
}));

const isGroupLeftOut = (scenario: GroupScenario): boolean =>
  LEFT_OUT.includes(scenario) || (!isRoot && GROUP_NEEDS_ROOT.includes(scenario));

it.each(groupRuns.filter(({ scenario }) => !isGroupLeftOut(scenario)))(
  'seed $seed: $scenario',
  async ({ seed, scenario }) => {
    const { failure, file } = await judge(groupOfProcesses(seed, [scenario]));
    expect(failure && `${failure}\nhistory: ${file}\n${again(seed, scenario, '--group ')}`).toBeUndefined();
  },
);

// A skipped test is printed at the end of a run.
if (LEFT_OUT.length > 0)
  it.skip(`${LEFT_OUT.join(', ')} [skipped: set RDMC_TEST_LONG=1 to run them]`, () => {});
if (noEtcd) it.skip(`${NEEDS_ETCD.join(', ')} (${noEtcd})`, () => {});
if (!isRoot)
  it.skip(`${[...NEEDS_ROOT, ...KV_NEEDS_ROOT, ...GROUP_NEEDS_ROOT].join(', ')} (they need root)`, () => {});
