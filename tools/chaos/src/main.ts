// npm run test:chaos: many runs, each from its seed.
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import { type Choice, chosen, impossibleHere, KINDS, type Kind } from './kinds.js';
import { judge } from './run/judge.js';

const scenariosOf = (option: Kind['option']): string =>
  KINDS.find((kind) => kind.option === option)!.scenarios.join(', ');
const all = (needed: 'needsRoot' | 'needsEtcd'): string => KINDS.flatMap((kind) => kind[needed]).join(', ');

const HELP = `chaos [--store] [--kv] [--group] [--runs N] [--seed N] [--scenario NAME]...

Runs a cluster of processes under load with faults (kills, stops, torn writes, cut links, damaged bits), and checks the
answers that its clients got, or the messages that its members delivered. Without --store, --kv and --group the seeds have
these three in turn.
  --store          a small store over one log; its scenarios:
                   ${scenariosOf('store')}
  --kv             a cluster of kv servers; its scenarios:
                   ${scenariosOf('kv')}
  --group          members of a group of @rdmc/group with stable delivery, which must deliver the same; its scenarios:
                   ${scenariosOf('group')}
  --scenario NAME  one of these scenarios; others are left out, and kinds of clusters that do not have it
  --runs N         number of runs (default: RDMC_CHAOS_RUNS, or 300)
  --seed N         seed of the first run; each next run adds 1 (default: RDMC_TEST_SEED, or from the clock)
Left out without root: ${all('needsRoot')};
without etcd: ${all('needsEtcd')}.
Exit code 1: a run failed; its seed and history file are printed.
Ctrl-C ends every process and removes every file of the current run.`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string', multiple: true },
    store: { type: 'boolean' },
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
  const choices = choose();
  if (runs === undefined || first === undefined || choices === undefined) return 2;
  heedSignals();
  let failed = 0;
  for (let seed = first; seed < first + runs; seed += 1) {
    const { option, create } = choices[seed % choices.length]!;
    const next = await create(seed);
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
    const again = `npm run test:chaos -- --${option} --runs 1 --seed ${seed} --scenario ${scenario}`;
    console.log(`  ${failure.replaceAll('\n', '\n  ')}\n  history: ${file}\n  again: ${again}`);
  }
  console.log(`${runs} runs, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

function wholeNumber(name: string, text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  console.error(`${name} must be a whole number, not '${text}'`);
  return undefined;
}

/** The kinds that were asked for, with the scenarios that can run here. */
function choose(): readonly Choice[] | undefined {
  const impossible = impossibleHere();
  for (const [name, needed] of impossible) console.log(`left out, because it needs ${needed}: ${name}`);
  try {
    return chosen(values, values.scenario, impossible);
  } catch (error) {
    console.error((error as Error).message);
    return undefined;
  }
}
