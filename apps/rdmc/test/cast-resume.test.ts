import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownIdentity } from '@rdmc/common';
import { mayMount, smallDisk, temporaryDirectory } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { describeResumed } from '../src/cast/resumed.js';
import { type ReceiveEvent, receiveEvent } from '../src/receive/events.js';
import { cast, castEvents, finishedOf, Receiver, sampleFile } from './support/casting.js';
import { answer, Cli, Scratch } from './support/cli.js';
import { BYTES, disturb, expectWhole, FASTER } from './support/disturbed.js';

const BLOCK_BYTES = 65_536;
let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

describe('an interrupted cast', () => {
  it('whose sender was killed by kill -9: the next one sends only the rest', async () => {
    const { file, receivers, sender } = await disturb(scratch, 2, { rate: FASTER });
    await sender.event('progress', ({ receivers: all }) =>
      all.every(({ storedBytes }) => storedBytes > BYTES / 4),
    );
    sender.child.kill('SIGKILL');
    await Promise.all(receivers.map(({ cli }) => cli.event('failed')));
    for (const receiver of receivers) expect(receiver.visible()).toEqual([]);
    const ended = await cast([file, '--to', receivers.map(({ name }) => name).join(',')]).ended;
    expect(ended.code).toBe(0);
    const { receivers: found, transferredBytes } = finishedOf(ended);
    const resumed = found.map(({ resumedBytes }) => resumedBytes);
    expect(Math.min(...resumed)).toBeGreaterThan(BYTES / 4 - BLOCK_BYTES);
    // Whole blocks: the last one may be sent again.
    expect(transferredBytes).toBeLessThanOrEqual(BYTES - Math.min(...resumed));
    const last = castEvents(ended).findLast(({ event }) => event === 'progress');
    expect(last).toMatchObject({ receivers: resumed.map((resumedBytes) => ({ resumedBytes })) });
    for (const receiver of receivers) expectWhole(receiver, file);
  });

  it('leaves what --no-resume does not use, and what --clean removes', async () => {
    const { file, receivers, sender } = await disturb(scratch, 1);
    const [receiver] = receivers;
    sender.child.kill('SIGINT');
    await receiver!.cli.event('failed');
    const ended = await cast([file, '--to', receiver!.name, '--no-resume']).ended;
    expect(finishedOf(ended)).toMatchObject({ transferredBytes: BYTES, receivers: [{ resumedBytes: 0 }] });
    expect(receiver!.visible()).toEqual(['sample']);
    expect(receiver!.left()).toHaveLength(2);
    const args = ['receive', '--clean', '--dir', receiver!.directory, '--json'];
    const cleaned = new Cli<ReceiveEvent>(args, {}, { schema: receiveEvent });
    expect(await cleaned.event('cleaned')).toMatchObject({ casts: 1 });
    expect((await cleaned.ended).code).toBe(0);
    expectWhole(receiver!, file);
    const again = await answer('receive', '--clean', '--dir', receiver!.directory);
    expect(again.stdout).toBe('Nothing to remove: no interrupted cast has left anything.\n');
  });

  it('leaves what --clean does not remove, but names, where a receiver in another container may use it', async () => {
    const [directory, name] = [temporaryDirectory(), '.rdmc-cast-of-a-container'];
    mkdirSync(join(directory, name));
    writeFileSync(
      join(directory, name, 'owner'),
      JSON.stringify({ ...ownIdentity(), pids: 'pid:[1]', pid: 0x3fff_ffff }),
    );
    const { stdout, code } = await answer('receive', '--clean', '--dir', directory);
    expect(stdout).toContain(`Left ${name}: receivers in other containers or on other hosts may use them.`);
    expect(code).toBe(0);
    expect(readdirSync(directory)).toEqual([name]);
    const json = await answer('receive', '--clean', '--dir', directory, '--json');
    expect(receiveEvent.parse(JSON.parse(json.stdout))).toMatchObject({ casts: 0, elsewhere: [name] });
  });
});

const ROOT = process.env.RDMC_TEST_NO_MOUNT === undefined && mayMount();

describe('a cast to a disk that becomes full', () => {
  it.skipIf(!ROOT)(
    'shows nothing, and continues when there is room (needs root, RDMC_TEST_NO_MOUNT unset)',
    async () => {
      const file = sampleFile(join(scratch.path, 'sample'), BYTES);
      const disk = smallDisk('size=40m');
      const receiver = await Receiver.start(disk);
      const sender = cast([file, '--to', receiver.name, '--bandwidth-limit', FASTER]);
      await sender.event('progress', ({ receivers: [one] }) => one!.storedBytes > BYTES / 8);
      const filler = join(disk, 'filler');
      // The rest of the disk, and more.
      expect(() => writeFileSync(filler, Buffer.alloc(64 * 1024 ** 2))).toThrow('ENOSPC');
      expect((await sender.ended).code).toBe(5);
      // The sender's process may end before the receiver has put away its temporary directory.
      await receiver.cli.event('failed');
      expect(receiver.visible()).toEqual(['filler']);
      rmSync(filler);
      const ended = await cast([file, '--to', receiver.name]).ended;
      const [one] = finishedOf(ended).receivers;
      expect(one!.resumedBytes).toBeGreaterThan(0);
      expectWhole(receiver, file);
      expect(readFileSync(join(disk, 'sample'))).toHaveLength(BYTES);
    },
  );
});

describe('--resume-limit', () => {
  it.each(['200%', 'half', '-1'])('of %s is refused', async (limit) => {
    const { code, stderr } = await answer('receive', '--dir', '/tmp', '--resume-limit', limit);
    expect(code).toBe(2);
    expect(stderr).toContain('--resume-limit');
  });
});

describe('--clean', () => {
  it.each([
    ['--stdout', ['--stdout']],
    ['--mkdir', ['--dir', '/tmp', '--mkdir']],
    ['--once', ['--dir', '/tmp', '--once']],
    ['--no-resume', ['--dir', '/tmp', '--no-resume']],
    ['a missing --dir', []],
  ])('with %s is refused', async (_what, args) => {
    expect((await answer('receive', '--clean', ...args)).code).toBe(2);
  });

  it('of a directory that does not exist says so', async () => {
    const { code, stderr } = await answer('receive', '--clean', '--dir', join(scratch.path, 'none'));
    expect(code).toBe(1);
    expect(stderr).toContain('error ERR_RDMC_NOT_FOUND');
  });
});

describe('the line for people', () => {
  it('says how much receivers have', () => {
    const of = (...sizes: readonly number[]) =>
      describeResumed(sizes.map((resumedBytes) => ({ resumedBytes })));
    expect(of(0, 0)).toBeUndefined();
    expect(of(0, 2 * 1024 ** 2)).toBe('  continues an interrupted cast: 1 receiver has 2 MiB of it');
    expect(of(1, 2 * 1024 ** 2)).toBe('  continues an interrupted cast: 2 receivers have up to 2 MiB of it');
  });
});
