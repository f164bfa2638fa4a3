// npm run test:chaos: many runs, each from its seed.
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import { noEtcd } from '@rdmc/testing/etcd';
import { GROUP_NEEDS_ROOT, GROUP_SCENARIOS, type GroupScenario } from './group/group-scenarios.js';
import { KV_NEEDS_ROOT, KV_SCENARIOS, type KvScenario, NEEDS_ETCD } from './kv/kv-plan.js';
import { judge, type Subject } from './run/judge.js';
import { NEEDS_ROOT, SCENARIOS, type Scenario } from './run/plan.js';
import { groupOfProcesses, kvCluster, storeOverLog } from './subjects.js';

const HELP = `chaos [--kv | --group] [--runs N] [--seed N] [--scenario NAME]...

Runs a cluster of processes under load with faults (kills, stops, torn writes, cut links, damaged bits), and checks the
answers that its clients got, or the messages that its members delivered.
  --runs N         number of runs (default: RDMC_CHAOS_RUNS, or 300)
  --seed N         seed of the first run; each next run adds 1 (default: RDMC_TEST_SEED, or from the clock)
  --scenario NAME  ${SCENARIOS.join(', ')}
  --kv             a cluster of kv servers instead of a small store over one log; its scenarios:
                   ${KV_SCENARIOS.join(', ')}
  --group          members of a group of @rdmc/group with stable delivery, which must deliver the same; its scenarios:
                   ${GROUP_SCENARIOS.join(', ')}
Left out without root: ${[...NEEDS_ROOT, ...KV_NEEDS_ROOT, ...GROUP_NEEDS_ROOT].join(', ')};
without etcd: ${NEEDS_ETCD.join(', ')}.
Exit code 1: a run failed; its seed and history file are printed.
Ctrl-C ends every process and removes every file of the current run.`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string', multiple: true },
    kv: { type: 'boolean' },
    group: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});

const interrupted = new AbortController();

if (values.help) console.log(HELP);
else process.exitCode = await main();

/** The first signal ends the current run, the second this process. A lab would end it if a signal had no listener left. */
function heedSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(128 + constants.signals[signal]);
      interrupted.abort(signal);
    });
  }
}

/** Exits at once, so that nothing of an abandoned run continues. */
function leave(seed: number): never {
  console.error(`interrupted in the run of seed ${seed}; its processes were ended and its files removed`);
  process.exit(128 + constants.signals[interrupted.signal.reason as NodeJS.Signals]);
}

async function main(): Promise<number> {
  const runs = wholeNumber('--runs', values.runs ?? process.env.RDMC_CHAOS_RUNS ?? '300');
  const first = wholeNumber(
    '--seed',
    values.seed ?? process.env.RDMC_TEST_SEED ?? String(Date.now() % 1_000_000),
  );
  const subject = subjects();
  if (runs === undefined || first === undefined || subject === undefined) return 2;
  heedSignals();
  let failed = 0;
  for (let seed = first; seed < first + runs; seed += 1) {
    const next = await subject(seed);
    const { scenario } = next.plan;
    const report = await judge(next, interrupted.signal).catch((error: unknown) => {
      if (interrupted.signal.aborted) leave(seed);
      throw error;
    });
    const { seconds, summary, failure, file } = report;
    const what = `seed ${seed} ${scenario} ${next.label}`.padEnd(44);
    console.log(`${failure === undefined ? 'ok    ' : 'FAILED'} ${what} ${summary}, ${seconds.toFixed(1)} s`);
    if (failure === undefined) continue;
    failed += 1;
    const again = `npm run test:chaos --${subjectFlag()} --runs 1 --seed ${seed} --scenario ${scenario}`;
    console.log(`  ${failure.replaceAll('\n', '\n  ')}\n  history: ${file}\n  again: ${again}`);
  }
  console.log(`${runs} runs, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

/** As it is given on the command line. */
function subjectFlag(): string {
  if (values.group) return ' --group';
  return values.kv ? ' --kv' : '';
}

function wholeNumber(name: string, text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  console.error(`${name} must be a whole number, not '${text}'`);
  return undefined;
}

/** Creates the system of a seed. */
function subjects(): ((seed: number) => Subject | Promise<Subject>) | undefined {
  if (values.kv && values.group) {
    console.error('--kv and --group are two subjects; give one of them');
    return undefined;
  }
  if (values.group) {
    const among = named(withoutRoot(GROUP_SCENARIOS, GROUP_NEEDS_ROOT));
    return among && ((seed) => groupOfProcesses(seed, among as readonly GroupScenario[]));
  }
  if (values.kv) {
    const among = named(possible());
    return among && ((seed) => kvCluster(seed, among as readonly KvScenario[]));
  }
  const among = named(withoutRoot(SCENARIOS, NEEDS_ROOT));
  return among && ((seed) => storeOverLog(seed, among as readonly Scenario[]));
}

/** The scenarios that this user can run. */
function withoutRoot(all: readonly string[], needRoot: readonly string[]): readonly string[] {
  if (process.getuid?.() === 0) return all;
  console.log(`left out, because they need root: ${needRoot.join(', ')}`);
  return all.filter((name) => !needRoot.includes(name));
}

/** The scenarios of kv that this machine can run. */
function possible(): readonly string[] {
  if (noEtcd)
    console.log(`left out, because they need etcd (apt-get install etcd-server): ${NEEDS_ETCD.join(', ')}`);
  const here = KV_SCENARIOS.filter((name) => !(noEtcd && NEEDS_ETCD.includes(name)));
  return withoutRoot(here, KV_NEEDS_ROOT);
}

function named(all: readonly string[]): readonly string[] | undefined {
  const unknown = values.scenario?.find((name) => !all.includes(name));
  if (unknown === undefined) return values.scenario ?? all;
  console.error(`unknown scenario '${unknown}'; known are ${all.join(', ')}`);
  return undefined;
}
