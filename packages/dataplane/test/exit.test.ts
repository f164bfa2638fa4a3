import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Random, SEED } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
  readonly errors: string;
}

const LIMIT_MS = 120_000;

/** Runs the fixture; a process that has not ended by itself within the limit hangs. */
function run(ending: string, moment: string, windowMs: number): Promise<Ending> {
  const fixture = fileURLToPath(new URL('./fixtures/exit.mjs', import.meta.url));
  const child = spawn(process.execPath, [fixture, ending, moment, String(windowMs)]);
  let output = '';
  let errors = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (text) => {
    errors += text;
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`hangs: ${ending} at ${moment}, window ${windowMs}; said: ${output}${errors}`));
    }, LIMIT_MS);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output, errors });
    });
  });
}

const numbers = new Random(SEED);
/** Milliseconds at which to end, different in every run, named in the test's title. */
const random = (limit: number) => (numbers.fraction() * limit).toFixed(1);
const moments = [
  `start+${random(80)}`,
  `start+${random(80)}`,
  'ready',
  'loaded+0',
  `loaded+${random(8)}`,
  'asleep',
  'closing',
  'closed',
];
const windows = [50, 0, Number.POSITIVE_INFINITY];
const cases = moments.map((moment, i) => [moment, windows[i % windows.length]!] as const);
/** A worker with pure polling does not fall asleep. */
const sleepless = (moment: string, windowMs: number) =>
  moment === 'asleep' && windowMs === Number.POSITIVE_INFINITY;
const runnable = cases.map(([moment, w]) => [moment, sleepless(moment, w) ? 0 : w] as const);

describe(`the application ends, RDMC_TEST_SEED=${SEED}`, () => {
  it.each(runnable)('by process.exit, %s, window %d', async (moment, windowMs) => {
    expect(await run('exit', moment, windowMs)).toMatchObject({ code: 3, signal: null });
  });

  it.each(runnable)('by an uncaught exception, %s, window %d', async (moment, windowMs) => {
    const ending = await run('throw', moment, windowMs);
    expect(ending).toMatchObject({ code: 1, signal: null });
    expect(ending.errors).toContain('the application fails');
  });

  it.each(windows)('by itself when no answer is pending, window %d', async (windowMs) => {
    expect(await run('nothing', 'ready', windowMs)).toEqual({
      code: 0,
      signal: null,
      output: '',
      errors: '',
    });
  });

  it('not while a call to a protocol in its own thread is unanswered', async () => {
    expect(await run('nothing', 'inline', 50)).toEqual({
      code: 0,
      signal: null,
      output: 'answered\n',
      errors: '',
    });
  });

  it('not while it holds a reference', async () => {
    expect(await run('nothing', 'waiting', 0)).toMatchObject({ code: 0, output: 'kept alive\n' });
  });
});

describe('the worker or its protocol ends', () => {
  const counted = (output: string) => JSON.parse(output) as Record<string, number>;

  it.each([
    ['terminate', 'loaded+0', 'ERR_RDMC_DATAPLANE_CLOSED'],
    ['terminate', `loaded+${random(8)}`, 'ERR_RDMC_DATAPLANE_CLOSED'],
    ['terminate', 'closing', 'ERR_RDMC_DATAPLANE_CLOSED'],
    ['protocol-rejects', 'loaded+0', 'ERR_RDMC_DATAPLANE_DIED'],
    ['protocol-rejects', `loaded+${random(8)}`, 'ERR_RDMC_DATAPLANE_DIED'],
    ['protocol-throws', 'loaded+0', 'ERR_RDMC_PROTOCOL_ENDED'],
    ['protocol-throws', `loaded+${random(8)}`, 'ERR_RDMC_PROTOCOL_ENDED'],
    ['protocol-exits', 'loaded+0', 'ERR_RDMC_DATAPLANE_DIED'],
    ['protocol-exits', `loaded+${random(8)}`, 'ERR_RDMC_DATAPLANE_DIED'],
  ])('by %s, %s: every command is answered or rejected, and the process ends', async (how, moment, code) => {
    const ending = await run(how, moment, 50);
    expect(ending).toMatchObject({ code: 0, errors: '' });
    const { fulfilled = 0, [code]: rejected = 0, ...others } = counted(ending.output);
    expect(others).toEqual({});
    expect(fulfilled + rejected).toBe(300);
    expect(rejected).toBeGreaterThanOrEqual(100);
  });

  it.each([
    ['terminate', 0],
    ['protocol-rejects', 0],
    ['protocol-throws', 0],
    ['protocol-exits', 50],
  ])('by %s while it sleeps (window %d), and the process ends', async (how, windowMs) => {
    expect(await run(how, 'asleep', windowMs)).toMatchObject({ code: 0, signal: null });
  });
});
