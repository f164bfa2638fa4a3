import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DemoEvent } from '../src/demo/events.js';
import { Cli, type Ended, isRunning, Scratch, untilGone } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

const MEMBERS = 3;
/** With these the members send for ten seconds. */
const SLOW = ['--size', '8MiB', '--link-rate', '50Mbit/s'];

/** A demonstration that lasts long enough to be disturbed, and the processes of its receivers. */
async function disturbable(
  members = MEMBERS,
  further: readonly string[] = [],
  event: DemoEvent['event'] = 'joined',
): Promise<{ cli: Cli; pids: number[] }> {
  const args = ['demo', '--members', String(members), ...SLOW, ...further, '--json'];
  const cli = new Cli(args, scratch.environment);
  await cli.event(event);
  return { cli, pids: await cli.several('started', members - 1).then((all) => all.map(({ pid }) => pid)) };
}

/** Nothing of a demonstration is left. */
function expectNothingLeft(pids: readonly number[], members = MEMBERS): void {
  expect(pids).toHaveLength(members - 1);
  expect(pids.filter(isRunning)).toEqual([]);
  expect(scratch.left()).toEqual([]);
}

function lastLine({ stdout }: Ended): unknown {
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

describe('when the command is interrupted', () => {
  it.each([
    ['SIGINT', 130, MEMBERS],
    ['SIGTERM', 143, 2],
    ['SIGHUP', 129, 2],
  ] as const)('%s ends everything with %d', async (signal, code, members) => {
    const { cli, pids } = await disturbable(members);
    cli.child.kill(signal);
    const ended = await cli.ended;
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(`error ERR_RDMC_INTERRUPTED: interrupted by ${signal}`);
    expect(lastLine(ended)).toMatchObject({ error: { code: 'ERR_RDMC_INTERRUPTED', exitCode: code } });
    expectNothingLeft(pids, members);
  });

  it('a SIGINT before the members have joined ends everything as well', async () => {
    const cli = new Cli(['demo', '-m', String(MEMBERS), ...SLOW, '--json'], scratch.environment);
    const pids = (await cli.several('started', MEMBERS - 1)).map(({ pid }) => pid);
    cli.child.kill('SIGINT');
    expect((await cli.ended).code).toBe(130);
    expectNothingLeft(pids);
  });

  it.each(['started', 'joined', 'received'] as const)(
    'its kill -9 after %s takes the receivers and all files with it',
    async (event) => {
      const trace = join(temporaryDirectory(), 'trace');
      const { cli, pids } = await disturbable(MEMBERS, ['--trace', trace], event);
      cli.child.kill('SIGKILL');
      expect((await cli.ended).signal).toBe('SIGKILL');
      await untilGone(pids);
      expectNothingLeft(pids);
    },
  );
});

describe('when a receiver is lost', () => {
  it('kill -9 of member 1 is exit code 4 and names it', async () => {
    const { cli, pids } = await disturbable();
    process.kill(pids[0]!, 'SIGKILL');
    const ended = await cli.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain(
      `error ERR_RDMC_MEMBER_LOST: member 1 (pid ${pids[0]}) was killed by SIGKILL`,
    );
    expectNothingLeft(pids);
  });

  it('kill -9 before the members have joined is exit code 4 and names it', async () => {
    const cli = new Cli(['demo', '-m', String(MEMBERS), ...SLOW, '--json'], scratch.environment);
    const pids = (await cli.several('started', MEMBERS - 1)).map(({ pid }) => pid);
    process.kill(pids[1]!, 'SIGKILL');
    const ended = await cli.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain(`member 2 (pid ${pids[1]}) was killed by SIGKILL`);
    expectNothingLeft(pids);
  });

  it('kill -9 while it writes its file is exit code 4 and names it', async () => {
    const { cli, pids } = await disturbable();
    await cli.event('received');
    process.kill(pids[1]!, 'SIGKILL');
    const ended = await cli.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain(`member 2 (pid ${pids[1]}) was killed by SIGKILL`);
    expectNothingLeft(pids);
  });

  it('its SIGINT is exit code 4 and names it', async () => {
    const { cli, pids } = await disturbable();
    process.kill(pids[1]!, 'SIGINT');
    const ended = await cli.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain(`member 2 (pid ${pids[1]}): interrupted by SIGINT`);
    expectNothingLeft(pids);
  });

  it('a stopped one does not keep the command from being interrupted', async () => {
    const { cli, pids } = await disturbable();
    process.kill(pids[0]!, 'SIGSTOP');
    cli.child.kill('SIGINT');
    expect((await cli.ended).code).toBe(130);
    expectNothingLeft(pids);
  });
});

/** Filling a disk needs a separate file system: mount -t tmpfs -o size=150m tmpfs /mnt/small */
const SMALL_TMPDIR = process.env.RDMC_TEST_SMALL_TMPDIR;

describe('when the disk is full', () => {
  it.skipIf(SMALL_TMPDIR === undefined)(
    'a receiver that cannot write names itself, exit code 5 (RDMC_TEST_SMALL_TMPDIR: an empty tmpfs of 150 MiB)',
    async () => {
      const folder = SMALL_TMPDIR!;
      const filler = join(folder, 'filler');
      const cli = new Cli(['demo', '-m', '3', '--size', '40MiB', '--json'], { TMPDIR: folder });
      try {
        await cli.event('joined');
        writeFileSync(filler, Buffer.alloc(60 << 20));
        const ended = await cli.ended;
        expect(ended.code).toBe(5);
        expect(ended.stderr).toMatch(
          /error ENOSPC: member [12] \(pid \d+\): cannot write .*member-[12]: no space left on device/,
        );
        expect(readdirSync(folder)).toEqual(['filler']);
      } finally {
        rmSync(filler, { force: true });
      }
    },
  );
});
