import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import type { ProcessReport, RunResult } from '@rdmc/training';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const COMMAND = fileURLToPath(new URL('../../apps/training/bin/rdmc-training', import.meta.url));
const STEPS = 12;
const KILL_AT = 5;
/** More than a slot of the channel, and more than a block of the group. */
const PARAMETERS = 100_000;

/** Where the command's processes put what they need for a while; nothing else does. */
let temporary: string;

beforeEach(() => {
  temporary = temporaryDirectory('rdmc-one-node');
});
afterEach(() => {
  for (const pid of processesLeft()) process.kill(pid, 'SIGKILL');
});

function start(...args: string[]) {
  const env = { ...process.env, TMPDIR: temporary };
  return spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
}

async function train(...args: string[]): Promise<RunResult> {
  const command = start('--json', '--device', 'soft', ...args);
  const [output, errors] = [text(command.stdout), text(command.stderr)];
  const [code] = await once(command, 'exit');
  // Whatever is left has these streams open, and they would not end.
  expect(processesLeft()).toEqual([]);
  expect(await errors).toBe('');
  expect(code).toBe(0);
  return JSON.parse(await output) as RunResult;
}

/** Processes of the command whose temporary files would be here. */
function processesLeft(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readOrEmpty(`/proc/${pid}/environ`).includes(`TMPDIR=${temporary}\0`))
    .map(Number);
}

/** Nothing, where the process has ended, or is another user's. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function expectNothingLeft(): void {
  expect(processesLeft()).toEqual([]);
  expect(readdirSync(temporary)).toEqual([]);
}

/** One worker thread served the group, the channel and the log of a process. */
function expectOneWorkerThread({ member, dataPlaneThreads, counters }: ProcessReport): void {
  expect(dataPlaneThreads, `worker threads of member ${member}`).toBe(1);
  expect(counters.completions, `completions of member ${member}`).toBeGreaterThan(STEPS);
}

describe('a group, a channel and a log on one node', () => {
  it('go on together when a member is killed with -9 in the middle of a step', async () => {
    const result = await train(
      '--steps',
      `${STEPS}`,
      '--kill-at',
      `${KILL_AT}`,
      '--parameters',
      `${PARAMETERS}`,
    );

    // Group and channel fail with the same member's id, and are made anew, once.
    expect(result.losses).toEqual([
      {
        member: expect.any(Number),
        step: KILL_AT,
        group: 'ERR_RDMC_MEMBER_LOST',
        channel: 'ERR_RDMC_HIPOWER_PEER_LOST',
      },
    ]);
    expect(result.crews).toBe(2);
    const lost = result.losses[0]!.member;
    const survivors = [1, 2, 3].filter((member) => member !== lost);

    // All steps are done. The command has compared their checksums: those of the log, the trainer's, and those of one process.
    const workersOf = (step: number): number[] => (step < KILL_AT ? [1, 2, 3] : survivors);
    expect(result.records.map(({ step, workers }) => ({ step, workers }))).toEqual(
      Array.from({ length: STEPS }, (_, index) => ({ step: index + 1, workers: workersOf(index + 1) })),
    );
    expect(new Set(result.records.map(({ checksum }) => checksum)).size).toBe(STEPS);
    expect(result.log.recovered).toBe(STEPS);
    expect(result.gradients).toBe(3 * (KILL_AT - 1) + 2 * (STEPS - KILL_AT + 1));

    // The log has replaced the backup that it lost.
    expect(result.log.backupsAtStart).toContain(lost);
    expect(result.log.backupsAtEnd).toEqual(survivors);

    // In each process one worker did all of that; the lost one had said so before.
    expect(result.processes.map(({ member }) => member)).toEqual([0, ...survivors]);
    expect(result.lastWords.map(({ member }) => member)).toEqual([lost]);
    for (const report of [...result.processes, ...result.lastWords]) expectOneWorkerThread(report);

    expectNothingLeft();
  });

  it('leave nothing behind when the job is interrupted while it trains', async () => {
    const command = start('--device', 'soft', '--steps', '10000', '--kill-at', '2');
    const errors = text(command.stderr);
    const ended = once(command, 'exit');
    // The loss is told in the middle of the job.
    for await (const line of createInterface({ input: command.stdout }))
      if (line.includes('lost in step 2')) break;
    expect(processesLeft().length).toBeGreaterThan(1);
    command.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expectNothingLeft();
    expect(await errors).toContain('ERR_RDMC_TRAINING_INTERRUPTED');
  });
});
