import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createSchedule } from '@rdmc/schedule';
import { beforeEach, describe, expect, it } from 'vitest';
import { newKey, parseKey } from '../src/keys/key.js';
import { createKeyFile } from '../src/keys/key-file.js';
import {
  cast,
  castEvents,
  finishedOf,
  planOf,
  Receiver,
  sampleFile,
  startReceivers,
} from './support/casting.js';
import { answer, Cli, Scratch } from './support/cli.js';
import { castHere, receiverHere, receiversHere } from './support/here.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

describe('rdmc cast', () => {
  it('puts a file at a receiver, with its mode and time', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 3_000_017);
    chmodSync(file, 0o750);
    utimesSync(file, 1_600_000_000, 1_600_000_000.123);
    const { receivers, to } = await startReceivers(scratch, 1, ['--once']);
    const ended = await cast([file, '--to', to]).ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const arrived = join(receivers[0]!.directory, 'sample');
    expect(readFileSync(arrived).equals(readFileSync(file))).toBe(true);
    const { mode, mtimeMs } = statSync(arrived);
    expect(mode & 0o777).toBe(0o750);
    expect(Math.round(mtimeMs)).toBe(Math.round(statSync(file).mtimeMs));
    const received = await receivers[0]!.cli.ended;
    expect(received).toMatchObject({ code: 0, stderr: '' });
    expect(await receivers[0]!.cli.event('complete')).toMatchObject({
      files: 1,
      bytes: 3_000_017,
      problems: [],
    });
    expect(receivers[0]!.left()).toEqual(['sample']);
  });

  it('puts a directory at several receivers, with all that is in it', async () => {
    const tree = join(scratch.path, 'a tree');
    mkdirSync(join(tree, 'sub/deep'), { recursive: true });
    sampleFile(join(tree, 'big'), 1_000_003);
    writeFileSync(join(tree, 'empty'), '');
    writeFileSync(join(tree, 'sub/größe in µm.txt'), 'ü');
    writeFileSync(join(tree, 'sub/deep/tool'), '#!/bin/sh\n', { mode: 0o755 });
    linkSync(join(tree, 'big'), join(tree, 'sub/same'));
    symlinkSync('../big', join(tree, 'sub/link'));
    for (let i = 0; i < 200; i += 1) writeFileSync(join(tree, `sub/deep/${i}`), `file ${i}\n`);
    const { receivers, to } = await receiversHere(scratch, 3);
    const ended = await castHere(tree, '--to', to);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const finished = finishedOf(ended);
    expect(finished).toMatchObject({
      outcome: 'all',
      exitCode: 0,
      files: 204,
      directories: 3,
      links: 2,
      problems: [],
    });
    expect(finished.receivers.map(({ state }) => state)).toEqual(['complete', 'complete', 'complete']);
    for (const { directory, left } of receivers.map((one) => ({
      directory: one.directory,
      left: one.left(),
    }))) {
      expect(left).toEqual(['a tree']);
      const at = (name: string): string => join(directory, 'a tree', name);
      expect(readFileSync(at('big')).equals(readFileSync(join(tree, 'big')))).toBe(true);
      expect(readFileSync(at('empty'))).toHaveLength(0);
      expect(readFileSync(at('sub/größe in µm.txt'), 'utf8')).toBe('ü');
      expect(statSync(at('sub/deep/tool')).mode & 0o777).toBe(0o755);
      expect(statSync(at('sub/same')).ino).toBe(statSync(at('big')).ino);
      expect(lstatSync(at('sub/link')).isSymbolicLink()).toBe(true);
      expect(readlinkSync(at('sub/link'))).toBe('../big');
      expect(readFileSync(at('sub/deep/199'), 'utf8')).toBe('file 199\n');
    }
  });

  it('tells a program what happens, in the order in which it does', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 2_000_000);
    const { receivers, to } = await startReceivers(scratch, 2, ['--transport', 'tcp']);
    const events = castEvents(await cast([file, '--to', to, '--transport', 'tcp', '-a', 'chain']).ended);
    expect(events[0]).toMatchObject({ event: 'begun', paths: [file] });
    expect(events.find(({ event }) => event === 'route')).toMatchObject({
      device: 'soft',
      gid: null,
      transports: ['tcp'],
      transportReason: 'asked for',
      algorithm: 'chain',
      encrypted: true,
    });
    for (const { cli } of receivers) {
      expect(await cli.event('began')).toMatchObject({ encrypted: true });
      expect(await cli.event('route')).toMatchObject({ device: 'soft', transports: ['tcp'], files: 1 });
    }
    const settled = events.flatMap((event) =>
      event.event === 'receiver' ? [`${event.name} ${event.state}`] : [],
    );
    expect(settled.sort()).toEqual(receivers.map(({ name }) => `${name} complete`).sort());
    const last = events.flatMap((event) => (event.event === 'progress' ? [event] : [])).at(-1)!;
    expect(last).toMatchObject({ phase: 'done', totalBytes: 2_000_000, totalFiles: 1 });
    expect(last.receivers.map(({ storedBytes }) => storedBytes)).toEqual([2_000_000, 2_000_000]);
    expect(events.at(-1)).toMatchObject({ event: 'finished', outcome: 'all', files: 1, encrypted: true });
  });

  it('tells a person what happened, and with --verbose how', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 300_001);
    const { receivers, to } = await receiversHere(scratch, 2);
    const { code, stdout, stderr } = await answer('cast', file, '--to', to, '--verbose');
    expect({ code, errors: stderr.match(/error/) }).toEqual({ code: 0, errors: null });
    expect(stdout).toMatch(/^ {2}device {5}soft/m);
    expect(stdout).toMatch(/^ {2}transport {2}shared memory: all members are on one host$/m);
    for (const { name } of receivers) expect(stdout).toContain(`  ${name} complete\n`);
    expect(stdout).toMatch(/^All 2 receivers have 1 file, 293\.0 KiB, verified, encrypted, in .*\.$/m);
    const plain = await answer('cast', file, '--to', to, '--compare', 'none', '--no-encrypt');
    expect(plain.stderr).toMatch(
      /^ {2}device soft \(.+\), transport shared memory \(all members are on one host\)$/m,
    );
    expect(plain.stdout).not.toContain('device');
    expect(plain.stdout).toContain(', verified, not encrypted, in ');
    const quiet = await answer('cast', file, '--to', to, '--quiet');
    expect(quiet).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('takes its key from a file, the environment or standard input', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const keyFile = join(scratch.path, 'key');
    await createKeyFile(keyFile);
    const key = readFileSync(keyFile, 'utf8');
    const base64 = Buffer.from(key.trim(), 'hex').toString('base64');
    const receiver = await Receiver.start(join(scratch.path, 'r'), [], { RDMC_KEY: base64 });
    const to = ['--to', receiver.name];
    expect((await castHere(file, ...to, '--key-file', keyFile)).code).toBe(0);
    expect(
      (await new Cli(['cast', file, ...to, '--compare=none', '--key-stdin'], {}, { input: key }).ended).code,
    ).toBe(0);
    expect((await receiver.cli.several('complete', 2)).map(({ files }) => files)).toEqual([1, 1]);
  });

  it('with another key fails at all receivers, with that reason', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const receiver = await receiverHere(join(scratch.path, 'r'), { key: parseKey(newKey(), 'here') });
    const ended = await cast([file, '--to', receiver.name], { RDMC_KEY: newKey() }).ended;
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('ERR_RDMC_KEY_MISMATCH');
    expect(receiver.left()).toEqual([]);
  });

  it('takes receivers from a host file', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const { receivers } = await receiversHere(scratch, 2);
    const hosts = join(scratch.path, 'hosts');
    writeFileSync(
      hosts,
      receivers.map(({ port }, i) => `127.0.0.1 port=${port} rack=r${i} # ${i}`).join('\n'),
    );
    const ended = await castHere(file, '--hostfile', hosts);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(castEvents(ended).find(({ event }) => event === 'route')).toMatchObject({
      algorithm: 'binomial-pipeline',
      algorithmReason: 'all members share memory',
    });
  });
});

describe('rdmc cast --plan', () => {
  it('shows the plan without a connection to a receiver', async () => {
    const tree = join(scratch.path, 'tree');
    mkdirSync(tree);
    sampleFile(join(tree, 'a'), 8 << 20);
    sampleFile(join(tree, 'b'), 17);
    const args = [tree, '--to', '127.0.0.1:1,127.0.0.2:2,localhost:3', '--plan', '--block-size', '1MiB'];
    const limited = await castHere(...args, '--bandwidth-limit', '40MB/s', '-a', 'chain');
    expect(limited).toMatchObject({ code: 0, stderr: '' });
    const plan = planOf(limited);
    expect(plan).toMatchObject({
      paths: [tree],
      files: 2,
      directories: 1,
      bytes: (8 << 20) + 17,
      algorithm: 'chain',
    });
    expect(plan.receivers.map(({ name, address }) => `${name} ${address}`)).toEqual([
      '127.0.0.1:1 127.0.0.1',
      '127.0.0.2:2 127.0.0.2',
      expect.stringMatching(/^localhost:3 (127\.0\.0\.1|::1)$/),
    ]);
    expect(plan.seconds).toBeGreaterThan((8 << 20) / 40e6);
    const whole = createSchedule({ algorithm: 'chain', nodes: 4, blocks: 4 }).steps;
    expect(plan.steps).toBeGreaterThanOrEqual(2 * whole);
    const { code, stdout } = await answer('cast', ...args);
    expect(code).toBe(0);
    expect(stdout).toContain('nothing was sent');
    expect(stdout).toContain('  each gets  2 files, 1 directory, 8.0 MiB');
  });

  it('with --ssh starts nothing', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 1000);
    const mark = join(scratch.path, 'mark');
    const args = [file, '--to', 'pod-1.invalid', '--ssh', '--remote-shell', `touch ${mark}`, '--plan'];
    const plan = planOf(await castHere(...args));
    expect(plan.receivers).toMatchObject([{ name: 'pod-1.invalid', address: '' }]);
    expect(existsSync(mark)).toBe(false);
  });
});
