// npm run test:chaos: many runs, each from its seed.
import { parseArgs } from 'node:util';
import { runOne } from './run/one.js';
import { NEEDS_ROOT, SCENARIOS, type Scenario } from './run/plan.js';

const HELP = `chaos [--runs N] [--seed N] [--scenario NAME]...

Kills, stops, tears, cuts and damages a cluster of processes under load, and checks what its clients were told.
  --runs N         how many (default: RDMC_CHAOS_RUNS, or 300)
  --seed N         of the first run; the next ones count up (default: RDMC_TEST_SEED, or by the clock)
  --scenario NAME  ${SCENARIOS.join(', ')}
Without root, ${NEEDS_ROOT.join(' and ')} are left out. Exit code 1: a run failed; its seed and history file are printed.`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string', multiple: true },
    help: { type: 'boolean', short: 'h' },
  },
});

if (values.help) console.log(HELP);
else process.exitCode = await main();

async function main(): Promise<number> {
  const runs = wholeNumber('--runs', values.runs ?? process.env.RDMC_CHAOS_RUNS ?? '300');
  const first = wholeNumber(
    '--seed',
    values.seed ?? process.env.RDMC_TEST_SEED ?? String(Date.now() % 1_000_000),
  );
  const among = scenarios();
  if (runs === undefined || first === undefined || among === undefined) return 2;
  let failed = 0;
  for (let seed = first; seed < first + runs; seed += 1) {
    const { plan, seconds, acknowledged, operations, failure, file } = await runOne(seed, among);
    const { scenario, shape } = plan;
    const what = `seed ${seed} ${scenario} r=${shape.replicas} ${shape.transport}`.padEnd(48);
    const numbers = `${operations} operations, ${acknowledged} writes acknowledged, ${seconds.toFixed(1)} s`;
    console.log(`${failure === undefined ? 'ok    ' : 'FAILED'} ${what} ${numbers}`);
    if (failure === undefined) continue;
    failed += 1;
    console.log(
      `  ${failure.replaceAll('\n', '\n  ')}\n  history: ${file}\n  again: npm run test:chaos -- --runs 1 --seed ${seed} --scenario ${scenario}`,
    );
  }
  console.log(`${runs} runs, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

function wholeNumber(name: string, text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  console.error(`${name} must be a whole number, not '${text}'`);
  return undefined;
}

function scenarios(): readonly Scenario[] | undefined {
  const named = values.scenario as Scenario[] | undefined;
  const unknown = named?.find((name) => !SCENARIOS.includes(name));
  if (unknown !== undefined) {
    console.error(`unknown scenario '${unknown}'; there are ${SCENARIOS.join(', ')}`);
    return undefined;
  }
  if (named) return named;
  if (process.getuid?.() === 0) return SCENARIOS;
  console.log(`left out, for they need root: ${NEEDS_ROOT.join(', ')}`);
  return SCENARIOS.filter((name) => !NEEDS_ROOT.includes(name));
}
