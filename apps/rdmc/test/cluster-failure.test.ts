import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FirstFailure, reportedFailure, silentEnd } from '../src/cluster/failure.js';
import { CliError } from '../src/errors.js';
import { ExitCode } from '../src/exit-codes.js';
import { storeRegion } from '../src/member/received-file.js';

/** The failure after these reports, with this number of milliseconds between them. */
async function firstFailure(errors: readonly unknown[], intervalMs = 0): Promise<CliError> {
  const first = new FirstFailure();
  for (const error of errors) {
    first.report(error);
    await vi.advanceTimersByTimeAsync(intervalMs);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  return (await first.failure.catch((error: unknown) => error)) as CliError;
}

const lost = reportedFailure('member 3 (pid 30)', 'ERR_RDMC_MEMBER_LOST', 'member 2 is lost: it broke off');
const killed = silentEnd('member 2 (pid 20)', { exitCode: null, signal: 'SIGKILL', stderr: '' });

describe('the first failure', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([0, 3000])('is the cause, also when its consequence is reported %i ms before', async (ms) => {
    const failure = await firstFailure([lost, killed], ms);
    expect(failure.message).toBe('member 2 (pid 20) was killed by SIGKILL');
    expect(failure.exitCode).toBe(ExitCode.MEMBER_LOST);
  });

  it('is the consequence when nothing else is reported', async () => {
    const failure = await firstFailure([lost]);
    expect(failure).toBeInstanceOf(CliError);
    expect(failure).toMatchObject({
      code: 'ERR_RDMC_MEMBER_LOST',
      message: 'member 2 is lost: it broke off',
      exitCode: ExitCode.MEMBER_LOST,
    });
  });

  it('does not change with later reports', async () => {
    const other = silentEnd('member 1 (pid 10)', { exitCode: 1, signal: null, stderr: 'out of luck' });
    expect((await firstFailure([other, killed])).message).toBe(
      'member 1 (pid 10) ended with exit code 1: out of luck',
    );
  });

  it('of a full disk has the member and advice, exit code 5', async () => {
    const full = reportedFailure(
      'member 2 (pid 20)',
      'ENOSPC',
      'cannot write /tmp/x: no space left on device',
    );
    expect(await firstFailure([lost, full])).toMatchObject({
      code: 'ENOSPC',
      message: 'member 2 (pid 20): cannot write /tmp/x: no space left on device',
      exitCode: ExitCode.NO_SPACE,
      advice: expect.stringContaining('TMPDIR'),
    });
  });
});

describe('a received file that cannot be written', () => {
  it('is an error with the code of the system, and the path', async () => {
    const path = join(temporaryDirectory(), 'absent', 'file');
    const view = (): Uint8Array => new Uint8Array(4);
    await expect(storeRegion({ view } as never, 4, path, () => {})).rejects.toMatchObject({
      code: 'ENOENT',
      message: expect.stringContaining(`cannot write ${path}: `),
    });
  });
});
