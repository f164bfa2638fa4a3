// npm run test:mutants: puts faults into a copy of the product, one at a time, and expects its tests to find each.
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS } from './list/index.js';
import type { Mutant } from './mutant.js';
import { lineOf, reportOf, summaryOf } from './report.js';
import { StaleMutant } from './stale.js';
import { Judge, Unusable, type Verdict } from './verdict.js';
import { Workshop } from './workshop.js';

const HELP = `npm run test:mutants [-- --only TEXT]... [--jobs N] [--list] [--json FILE]

Puts faults into a copy of the product, one at a time, builds it and runs the tests that should find the fault.
  --only TEXT   only mutants whose id contains the text; may be repeated
  --jobs N      copies that run in parallel (default: half the processors)
  --list        prints the mutants and ends
  --json FILE   writes the verdicts there
A mutant whose tests time out counts as killed if they pass without it, and exceed a larger limit with it.
Exit code 0: 95% were killed, and the list explains each survivor; 1: otherwise; 2: usage, a stale mutant, or tests that
fail without a fault. Ctrl-C ends the tests and removes the copies.`;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    jobs: { type: 'string' },
    json: { type: 'string' },
    list: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});

// Not `once`: a second signal would end the removal of the copies.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

process.exitCode = await main();

async function main(): Promise<number> {
  if (values.help) return say(HELP, 0);
  const chosen = MUTANTS.filter(({ id }) => values.only?.some((text) => id.includes(text)) ?? true);
  if (values.list) return say(chosen.map(({ id, fault }) => `${id}: ${fault}`).join('\n'), 0);
  const jobs = Number(values.jobs ?? Math.max(1, availableParallelism() >> 1));
  if (!Number.isSafeInteger(jobs) || jobs < 1) return say('--jobs must be a whole number of at least 1', 2);
  if (chosen.length === 0) return say('no mutant has an id with this text; --list prints all', 2);
  try {
    return conclude(await judgeAll(chosen, Math.min(jobs, chosen.length)));
  } catch (error) {
    if (!(error instanceof StaleMutant || error instanceof Unusable)) throw error;
    return say(error.message, 2);
  }
}

/** Each copy takes the next mutant when it is free. */
async function judgeAll(mutants: readonly Mutant[], jobs: number): Promise<Verdict[]> {
  const waiting = [...mutants];
  const verdicts: Verdict[] = [];
  const lane = async (): Promise<void> => {
    const workshop = new Workshop(ROOT);
    const remove = (): void => workshop.remove();
    process.once('exit', remove);
    const judge = new Judge(workshop);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const verdict = await judge.judge(next);
      verdicts.push(verdict);
      console.log(lineOf(verdict));
    }
  };
  await Promise.all(Array.from({ length: jobs }, lane));
  return verdicts;
}

function conclude(verdicts: readonly Verdict[]): number {
  if (values.json !== undefined) {
    const rows = verdicts.map(({ mutant, ...outcome }) => ({ id: mutant.id, ...outcome }));
    writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  }
  console.log(summaryOf(verdicts));
  return reportOf(verdicts).passed ? 0 : 1;
}

function say(text: string, code: number): number {
  (code === 0 ? console.log : console.error)(text);
  return code;
}
