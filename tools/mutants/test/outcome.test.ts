import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, test } from 'vitest';
import { startVitest } from 'vitest/node';
import FailureReporter from '../src/failure-reporter.js';
import { onlyTimedOut } from '../src/failures.js';
import type { Mutant } from '../src/mutant.js';
import { outcomeOf } from '../src/outcome.js';
import { lineOf, reportOf, summaryOf } from '../src/report.js';
import type { Trial } from '../src/trial.js';
import { requireBuilt, type Verdict } from '../src/verdict.js';

const passed = (seconds = 1): Trial => ({ passed: true, timedOut: false, seconds, output: '' });
const failed = (seconds = 1): Trial => ({ passed: false, timedOut: false, seconds, output: '' });
const late = (seconds: number): Trial => ({ passed: false, timedOut: true, seconds, output: '' });

/** The outcome for these results with the fault, for each trial, and without it; and the limits of the trials. */
async function decide(mutated: Trial[], baseline: Trial[] = []) {
  const asked: string[] = [];
  const outcome = await outcomeOf(
    {
      mutated: async (limitMs) => {
        asked.push(`mutant ${limitMs}`);
        return mutated.shift()!;
      },
      baseline: async (limitMs) => {
        asked.push(`baseline ${limitMs}`);
        return baseline.shift()!;
      },
    },
    60_000,
  );
  return { ...outcome, asked };
}

test('a failed test kills, at once', async () => {
  expect(await decide([failed(2)])).toMatchObject({
    outcome: 'killed',
    found: true,
    asked: ['mutant 60000'],
  });
});

test('a mutant that no test finds survives, at once', async () => {
  expect(await decide([passed()])).toMatchObject({
    outcome: 'survived',
    found: false,
    asked: ['mutant 60000'],
  });
});

test('a mutant that hangs again with a larger limit, while the tests pass without it, is found', async () => {
  expect(await decide([late(60), late(180)], [passed(10)])).toMatchObject({
    outcome: 'timed out',
    found: true,
    asked: ['mutant 60000', 'baseline 60000', 'mutant 180000'],
  });
});

test.each([
  ['do not end', late(60)],
  ['fail', failed()],
])('if the tests %s without the fault, a time-out is not a result', async (_, baseline) => {
  expect(await decide([late(60)], [baseline])).toMatchObject({
    outcome: 'timed out',
    found: false,
    asked: ['mutant 60000', 'baseline 60000'],
  });
});

test.each([
  ['passes', passed(100), 'survived', false],
  ['fails', failed(100), 'killed', true],
])(
  'a mutant that was only slow and %s with a larger limit is not a time-out',
  async (_, second, outcome, found) => {
    expect(await decide([late(60), second], [passed()])).toMatchObject({ outcome, found });
  },
);

test('a test whose own limit ends it as early as the first time is not a proof', async () => {
  expect(await decide([late(50), late(50)], [passed()])).toMatchObject({
    outcome: 'timed out',
    found: false,
  });
});

test('only failures by a time-out of the test itself count as timed out', async () => {
  const folder = temporaryDirectory('rdmc-failures');
  const never = 'async () => { await new Promise(() => {}); }';
  const late = `test('late', { timeout: 10 }, ${never});`;
  const hook = `describe('hook', () => { beforeAll(${never}, 10); test('not run', () => {}); });`;
  const wrong = `test('wrong', () => { expect(1).toBe(2); });`;
  const broken = `throw new Error('does not load');`;
  expect(await failuresOf(folder, late + hook)).toHaveLength(2);
  for (const [source, expected] of [
    [late + hook, true],
    [late, true],
    [hook, true],
    [late + wrong, false],
    [broken, false],
    [`test('passes', () => {});`, false],
  ] as const) {
    expect(onlyTimedOut(await failuresOf(folder, source)), source).toBe(expected);
  }
});

/** What vitest's failures say, for a test file. */
async function failuresOf(folder: string, source: string): Promise<string[]> {
  const failures = join(folder, 'failures.json');
  process.env.RDMC_MUTANTS_FAILURES = failures;
  writeFileSync(join(folder, 'a.test.js'), source);
  const options = { root: folder, config: false, watch: false, globals: true, run: true } as const;
  const vitest = await startVitest('test', [], { ...options, reporters: [new FailureReporter()] });
  await vitest.close();
  process.exitCode = 0;
  return JSON.parse(readFileSync(failures, 'utf8')) as string[];
}

function verdict(outcome: Verdict['outcome'], found: boolean, survives?: string): Verdict {
  const mutant = { id: 'x/y', fault: 'Breaks.', ...(survives && { survives }) } as Mutant;
  return { mutant, outcome, found, how: 'so', seconds: 1 };
}

test('the report counts timed-out mutants that hang as killed', () => {
  const verdicts = [...Array(18).fill(verdict('killed', true)), verdict('timed out', true)];
  verdicts.push(verdict('timed out', false));
  const report = { killed: 18, timedOut: 2, hung: 1, survived: 0, explained: 0 };
  expect(reportOf(verdicts)).toEqual({ ...report, passed: true });
  expect(reportOf(verdicts.slice(1))).toMatchObject({ killed: 17, passed: false });
  expect(summaryOf(verdicts)).toBe(
    '20 mutants: 18 killed by a failed test, 2 timed out (1 of them hang, and count as killed), ' +
      '0 survived (0 explained)',
  );
  expect(lineOf(verdict('timed out', true))).toBe('timed out x/y (so, 1.0 s)');
  expect(lineOf(verdict('timed out', false))).toContain('fault: Breaks.');
  expect(lineOf(verdict('survived', false))).toContain('not explained');
});

test('a build that did not end is not one that the compiler refused', () => {
  expect(() => requireBuilt('a', passed())).not.toThrow();
  expect(() => requireBuilt('a', failed())).toThrow('a does not compile');
  expect(() => requireBuilt('a', late(1800))).toThrow('a was not compiled within 1800 s');
});
