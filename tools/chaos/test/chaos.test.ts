import { expect, it } from 'vitest';
import { KV_SCENARIOS } from '../src/kv/kv-plan.js';
import { judge } from '../src/run/judge.js';
import { NEEDS_ROOT, SCENARIOS } from '../src/run/plan.js';
import { kvCluster, storeOverLog } from '../src/subjects.js';

/** The seed of the first run. Every change is tested with the same seeds; `npm run test:chaos` uses new ones. */
const firstSeed = Number(process.env.RDMC_TEST_SEED ?? 1);
const isRoot = process.getuid?.() === 0;

/** The command that repeats a failed run. */
function again(seed: number, scenario: string, subject = ''): string {
  return `again: npm run test:chaos -- ${subject}--runs 1 --seed ${seed} --scenario ${scenario}`;
}

/**
 * Faults that other scenarios contain, `primary-and-backups`, `kv-servers` and `kv-coordinator-server`: RDMC_TEST_LONG=1 runs
 * them too.
 */
const CONTAINED: readonly string[] =
  process.env.RDMC_TEST_LONG === '1' ? [] : ['primary', 'kv-server', 'kv-coordinator'];

/** Each scenario once. */
const runs = Array.from({ length: Number(process.env.RDMC_CHAOS_RUNS ?? SCENARIOS.length) }, (_, run) => {
  const scenario = SCENARIOS[run % SCENARIOS.length]!;
  return { seed: firstSeed + run, scenario, needsRoot: NEEDS_ROOT.includes(scenario) };
});

it.each(runs.filter(({ scenario, needsRoot }) => (isRoot || !needsRoot) && !CONTAINED.includes(scenario)))(
  'seed $seed: $scenario',
  async ({ seed, scenario }) => {
    const { failure, file, acknowledged } = await judge(await storeOverLog(seed, [scenario]));
    expect(failure && `${failure}\nhistory: ${file}\n${again(seed, scenario)}`).toBeUndefined();
    expect(acknowledged).toBeGreaterThan(0);
  },
);

const kvRuns = KV_SCENARIOS.map((scenario, run) => ({ seed: firstSeed + run, scenario }));

it.each(kvRuns.filter(({ scenario }) => !CONTAINED.includes(scenario)))(
  'seed $seed: $scenario',
  async ({ seed, scenario }) => {
    const { failure, file, acknowledged } = await judge(kvCluster(seed, [scenario]));
    expect(failure && `${failure}\nhistory: ${file}\n${again(seed, scenario, '--kv ')}`).toBeUndefined();
    expect(acknowledged).toBeGreaterThan(0);
  },
);

// A skipped test is printed at the end of a run.
if (CONTAINED.length > 0)
  it.skip('primary, kv-server and kv-coordinator (RDMC_TEST_LONG=1 runs them)', () => {});
if (!isRoot) it.skip('full-disk, cut-links and cut-backup (they need root)', () => {});
