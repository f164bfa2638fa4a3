import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { receiveFiles } from '@rdmc/cast';
import { RdmcNode } from '@rdmc/group';
import { mayMount, smallDisk } from '@rdmc/testing';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { castEvents, finishedOf, sampleFile } from './support/casting.js';
import { answer, Scratch } from './support/cli.js';
import { BYTES, disturb, expectWhole } from './support/disturbed.js';
import { castHere, receiverHere, receiversHere } from './support/here.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

describe('when the sender is', () => {
  it.each([
    ['interrupted by Ctrl-C', 'SIGINT', 130],
    ['terminated', 'SIGTERM', 143],
  ] as const)('%s, receivers show nothing incomplete, and still listen', async (_, signal, code) => {
    const { file, others: receivers, sender } = await disturb(scratch, 0, { others: 2 });
    sender.child.kill(signal);
    const ended = await sender.ended;
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(`error ERR_RDMC_INTERRUPTED: interrupted by ${signal}`);
    expect(ended.stderr).toContain('the same command continues the cast');
    await Promise.all(receivers.map(({ failed }) => failed));
    for (const receiver of receivers) expect(receiver.visible()).toEqual([]);
    const again = await castHere(file, '--to', receivers.map(({ name }) => name).join(','));
    expect(again.code).toBe(0);
    for (const receiver of receivers) expectWhole(receiver, file);
  });

  it('interrupted twice, it ends at once, and receivers still show nothing', async () => {
    const { others: receivers, sender } = await disturb(scratch, 0, { others: 2 });
    sender.child.kill('SIGINT');
    sender.child.kill('SIGINT');
    const { code, signal } = await sender.ended;
    // The system may make one signal of both.
    expect([code, signal]).toEqual(code === null ? [null, 'SIGINT'] : [130, null]);
    await Promise.all(receivers.map(({ failed }) => failed));
    for (const receiver of receivers) expect(receiver.visible()).toEqual([]);
  });

  it('writing to a closed output, it cleans up and ends', async () => {
    const { others: receivers, sender } = await disturb(scratch, 0, { others: 1 });
    sender.child.stdout!.destroy();
    expect(await sender.ended).toMatchObject({ code: 141, stderr: '' });
    await receivers[0]!.failed;
    expect(receivers[0]!.visible()).toEqual([]);
  });

  it('killed, receivers with --once end with exit code 4', async () => {
    const { receivers, sender } = await disturb(scratch, 1, { receiverArgs: ['--once'] });
    sender.child.kill('SIGKILL');
    const received = await receivers[0]!.cli.ended;
    expect(received.code).toBe(4);
    expect(await receivers[0]!.cli.event('failed')).toMatchObject({ code: 'ERR_RDMC_SENDER_LOST' });
    expect(receivers[0]!.visible()).toEqual([]);
  });
});

describe('when the sender has left the mesh', () => {
  it('a receiver that fails while it stores is reported: exit code 6, and the others finish', async () => {
    const groups = vi.spyOn(RdmcNode.prototype, 'createGroup');
    onTestFinished(() => groups.mockRestore());
    const senderLeft = async (): Promise<void> => {
      const nodes = groups.mock.contexts as RdmcNode[];
      await nodes.find(({ id }) => id === 0)!.closed;
    };
    const sink = (): Writable =>
      new Writable({
        write: (_chunk, _encoding, done) => done(),
        final: (done) => void senderLeft().then(() => done(new Error('disk on fire')), done),
      });
    const storing = await receiveFiles({ sink, host: '127.0.0.1', port: 0 });
    onTestFinished(() => storing.close());
    const { receivers, to } = await receiversHere(scratch, 1);
    const file = sampleFile(join(scratch.path, 'sample'), BYTES);
    const ended = await castHere(file, '--to', `${to},127.0.0.1:${storing.address.port}`);
    expect(ended.code).toBe(6);
    const [, failed] = finishedOf(ended).receivers;
    expect(failed).toMatchObject({ state: 'failed', code: 'ERR_RDMC_WRITE_FAILED' });
    expect(failed!.message).toContain('disk on fire');
    expectWhole(receivers[0]!, file);
  });
});

describe('when something is missing', () => {
  it('no receiver listens: exit code 4, and all are reported', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const ended = await castHere(file, '--to', '127.0.0.1:1,127.0.0.2:1');
    expect(ended.code).toBe(4);
    expect(ended.stdout).toContain('127.0.0.1:1');
    expect(ended.stdout).toContain('127.0.0.2:1');
  });

  it('one does not listen: the others get it, exit code 6', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const { receivers, to } = await receiversHere(scratch, 1);
    const { code, stderr, stdout } = await answer('cast', file, '--to', `${to},127.0.0.1:1`);
    expect(code).toBe(6);
    expect(stdout).toMatch(/^1 of 2 receivers has 1 file/m);
    expect(stdout).not.toContain('verified');
    for (const line of `${stdout}${stderr}`.split('\n'))
      expect(line.match(/127\.0\.0\.1:1(?!\d)/g)?.length ?? 0, line).toBeLessThanOrEqual(1);
    expect(stderr).toMatch(/^ {2}127\.0\.0\.1:1 {2}ERR_RDMC_CAST_UNREACHABLE: /m);
    expect(stderr).toContain('the same command with --to 127.0.0.1:1');
    expectWhole(receivers[0]!, file);
  });

  it('the file does not exist: exit code 1, without a connection to a receiver', async () => {
    const { receivers, to } = await receiversHere(scratch, 1);
    const ended = await castHere(join(scratch.path, 'none'), '--to', to);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('error ERR_RDMC_NOT_FOUND');
    expect(receivers[0]!.left()).toEqual([]);
  });

  it('the directory of a receiver does not exist: it says so, and --mkdir makes it', async () => {
    const directory = join(scratch.path, 'not/there');
    const refused = await answer('receive', '--listen', '127.0.0.1:0', '--dir', directory);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`error ERR_RDMC_NOT_FOUND: ${directory} does not exist`);
    expect(refused.stderr).toContain('--mkdir');
    mkdirSync(scratch.path, { recursive: true });
    expect((await answer('receive', '--listen', '127.0.0.1:99999', '--dir', directory)).code).toBe(2);
  });

  it('the directory of a receiver is a file: it says so', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 10);
    const refused = await answer('receive', '--listen', '127.0.0.1:0', '--dir', file);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`error ERR_RDMC_NOT_A_DIRECTORY: ${file} is not a directory`);
    const made = await answer('receive', '--listen', '127.0.0.1:0', '--dir', join(file, 'below'), '--mkdir');
    expect(made.code).toBe(1);
    expect(made.stderr).toMatch(/^error ENOTDIR: cannot make the directory \S+: not a directory$/m);
  });

  it('the port of a receiver is taken: it says so', async () => {
    const { receivers } = await receiversHere(scratch, 1);
    const { code, stderr } = await answer('receive', '--listen', receivers[0]!.name, '--dir', scratch.path);
    expect(code).toBe(1);
    expect(stderr).toContain('error ERR_RDMC_ADDRESS_IN_USE');
  });
});

const ROOT = process.env.RDMC_TEST_NO_MOUNT === undefined && mayMount();

describe('when a disk is full', () => {
  it.skipIf(!ROOT)(
    'its receiver says so, and the others finish (needs root, RDMC_TEST_NO_MOUNT unset)',
    async () => {
      const small = smallDisk('size=6m');
      const before = statfsSync(small).bavail;
      const file = sampleFile(join(scratch.path, 'sample'), BYTES);
      const full = await receiverHere(small);
      const { receivers, to } = await receiversHere(scratch, 1);
      const ended = await castHere(file, '--to', `${to},${full.name}`);
      expect(ended.code).toBe(6);
      const [, failed] = finishedOf(ended).receivers;
      expect(failed).toMatchObject({ name: full.name, state: 'failed', code: 'ERR_RDMC_NO_SPACE' });
      expectWhole(receivers[0]!, file);
      await full.failed;
      expect(full.left()).toEqual([]);
      expect(statfsSync(small).bavail).toBe(before);
      const alone = await castHere(file, '--to', full.name);
      expect(alone.code).toBe(5);
      expect(castEvents(alone).length).toBeGreaterThan(0);
    },
  );
});
