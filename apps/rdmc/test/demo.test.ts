import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSchedule } from '@rdmc/schedule';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DemoEvent } from '../src/demo/events.js';
import { answer, Cli, eventsOf, isRunning, Scratch } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

function demo(...args: readonly string[]): Cli {
  return new Cli(['demo', ...args], scratch.environment);
}

function only<Name extends DemoEvent['event']>(events: readonly DemoEvent[], name: Name) {
  return events.filter(({ event }) => event === name) as Extract<DemoEvent, { event: Name }>[];
}

/** A file whose parts all differ, of a length that is not a multiple of a block. */
function sampleFile(byteLength: number): { path: string; sha256: string } {
  const content = Buffer.alloc(byteLength);
  for (let i = 0; i < byteLength; i += 1) content[i] = (i * 31 + (i >>> 8) * 7 + (i >>> 16)) & 0xff;
  const path = join(scratch.path, 'sample');
  writeFileSync(path, content);
  return { path, sha256: createHash('sha256').update(content).digest('hex') };
}

describe('rdmc demo', () => {
  it('delivers a file to separate processes, verifies every copy, and compares the algorithms', async () => {
    const { path, sha256 } = sampleFile(3_000_017);
    const ended = await demo('-m', '3', '-f', path, '--link-rate', 'none', '--json').ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const events = eventsOf(ended);
    expect(only(events, 'begun')[0]).toMatchObject({ file: path, byteLength: 3_000_017, members: 3 });
    const pids = only(events, 'started').map(({ pid }) => pid);
    expect(new Set([...pids, process.pid]).size).toBe(3);
    expect(
      only(events, 'received')
        .map(({ member }) => member)
        .sort(),
    ).toEqual([1, 2]);
    const verified = only(events, 'verified');
    expect(verified.map(({ member }) => member).sort()).toEqual([1, 2]);
    for (const event of verified) expect(event).toMatchObject({ sha256, ok: true });
    expect(only(events, 'finished')[0]).toMatchObject({ ok: true, sha256, keptFolder: null });
    expect(pids.filter(isRunning)).toEqual([]);
    expect(scratch.left()).toEqual(['sample']);
  });

  it('tells device, transport, blocks and steps, measures each algorithm, and limits the link of each member', async () => {
    const size = ['--size', '512KiB', '--block-size', '32KiB', '--link-rate', '100Mbit/s'];
    const events = eventsOf(await demo('--members', '3', ...size, '--json').ended);
    expect(only(events, 'joined')[0]).toMatchObject({
      device: 'soft',
      transport: 'tcp',
      linkBitsPerSecond: 100e6,
      algorithm: 'binomial-pipeline',
      blockBytes: 32_768,
      blocks: 16,
      steps: createSchedule({ algorithm: 'binomial-pipeline', nodes: 3, blocks: 16 }).steps,
    });
    const measured = only(events, 'measured');
    expect(measured.map(({ algorithm }) => algorithm)).toEqual([
      'sequential',
      'chain',
      'binomial-tree',
      'binomial-pipeline',
    ]);
    for (const { algorithm, steps, rounds, seconds, fastestSeconds, slowestSeconds } of measured) {
      expect(steps).toBe(createSchedule({ algorithm, nodes: 3, blocks: 16 }).steps);
      expect(rounds).toBeGreaterThanOrEqual(1);
      expect(fastestSeconds).toBeLessThanOrEqual(seconds);
      expect(seconds).toBeLessThanOrEqual(slowestSeconds);
    }
    const { oneCopySeconds } = only(events, 'copied')[0]!;
    for (const { seconds, timesOneCopy } of measured) expect(timesOneCopy).toBe(seconds / oneCopySeconds);
    expect(only(events, 'finished')[0]!.explanation).toMatch(/^\S+ took [\d.]+ times one copy/);
    // A busy machine makes it longer, never shorter. A link that was idle catches up 4 ms, and one turn of 3 ms.
    const least = (copies: number): number => (copies * 2 ** 22) / 100e6 - 0.01;
    expect(oneCopySeconds).toBeGreaterThan(least(1));
    for (const { algorithm, fastestSeconds } of measured)
      expect(fastestSeconds, algorithm).toBeGreaterThan(least(algorithm === 'sequential' ? 2 : 1));
  });

  it('prints a line per receiver, a table and a sentence where output is not a terminal', async () => {
    const { code, stdout } = await demo('--members', '3', '--size', '300001').ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ {2}transport +TCP: each member has a link of its own, 400 Mbit\/s in each direction$/m,
    );
    expect(stdout).toMatch(/^ {2}member 1 started, process \d+$/m);
    expect(stdout).toMatch(/^ {2}member 2 done, 293\.0 KiB received in .*, SHA-256 [0-9a-f]{12}… matches$/m);
    for (const name of ['one copy', 'sequential', 'chain', 'binomial-tree', 'binomial-pipeline']) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} +[\\d.]+ [mµ]?s$`, 'm'));
      expect(stdout).toMatch(
        new RegExp(`^ {2}${name} +\\d+ +[\\d.]+ [mµ]?s +[\\d.,]+ [KMG]?i?B/s +[\\d.]+ +█+$`, 'm'),
      );
    }
    expect(stdout).toContain("All 2 files have the sender's SHA-256.");
    expect(stdout).not.toContain('\u001b');
  });

  it('uses one algorithm only when asked, repeats a file for --size, and keeps the files with --keep', async () => {
    const path = join(scratch.path, 'abc');
    writeFileSync(path, 'abc');
    const ended = await demo('-m', '3', '-f', path, '--size', '100001', '-a', 'chain', '--keep', '--json')
      .ended;
    const events = eventsOf(ended);
    expect(only(events, 'measured').map(({ algorithm }) => algorithm)).toEqual(['chain']);
    const sha256 = createHash('sha256').update('abc'.repeat(33_334).slice(0, 100_001)).digest('hex');
    expect(only(events, 'finished')[0]).toMatchObject({ sha256 });
    const folder = only(events, 'finished')[0]!.keptFolder!;
    expect(readdirSync(folder).sort()).toEqual(['member-1', 'member-2', 'source']);
    for (const name of readdirSync(folder)) {
      const kept = readFileSync(join(folder, name));
      expect(createHash('sha256').update(kept).digest('hex')).toBe(sha256);
    }
  });

  it('sends 32 MiB of the node binary by default', async () => {
    const running = demo('-m', '2', '--link-rate', 'none', '-a', 'chain');
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    // A long path is followed by a line break.
    expect(stdout.replace(/\s+/g, ' ')).toContain(` file ${process.execPath}, the first 32 MiB `);
    expect(stdout).toMatch(/^ {2}transport +TCP: without a limit, as --link-rate none asks$/m);
  });

  it('works over shared memory, and says why copies cost there', async () => {
    const ended = await demo('-m', '3', '--size', '1MiB', '--transport', 'shm', '--json').ended;
    expect(ended.code).toBe(0);
    const events = eventsOf(ended);
    expect(only(events, 'joined')[0]).toMatchObject({ transport: 'shm', linkBitsPerSecond: null });
    expect(only(events, 'finished')[0]!.explanation).toContain('shared memory does not have links');
  });
});

describe('rdmc demo refuses', () => {
  it.each([
    ['a group of one', ['--members', '1'], 2, '--members: found "1"'],
    ['an unknown algorithm', ['--algorithm', 'magic'], 2, 'expected all, sequential'],
    ['hybrid', ['--algorithm', 'hybrid'], 2, 'hybrid needs racks'],
    ['an unknown transport', ['--transport', 'udp'], 2, 'expected auto, shm or tcp'],
    ['a malformed rate', ['--link-rate', 'fast'], 2, '--link-rate: found "fast"; expected none, or a rate'],
    ['a rate below any link', ['--link-rate', '1kbit/s'], 2, 'expected none, or a rate from 1 Mbit/s'],
    ['links in shared memory', ['--transport', 'shm', '--link-rate', '1Gbit/s'], 2, 'does not have links'],
    ['a malformed size', ['--size', 'big'], 2, 'expected a size'],
    [
      'a file that does not exist',
      ['--file', '/does/not/exist'],
      1,
      'error ENOENT: cannot read /does/not/exist',
    ],
    ['a folder', ['--file', '/'], 2, 'is not a file'],
    ['a message beyond memory', ['--size', '1000GiB'], 5, 'error ERR_RDMC_OUT_OF_MEMORY: 8 members'],
  ])('%s', async (_, args, code, message) => {
    vi.stubEnv('TMPDIR', scratch.path);
    onTestFinished(() => void vi.unstubAllEnvs());
    const ended = await answer('demo', ...args);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(message);
    expect(scratch.left()).toEqual([]);
  });

  it('a folder for temporary files that does not exist', async () => {
    const { code, stderr } = await new Cli(['demo'], { TMPDIR: '/does/not/exist' }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('error ENOENT: no temporary folder');
    expect(stderr).toContain('set TMPDIR');
  });

  it('RDMC_DEVICE that names no device', async () => {
    const { code, stderr } = await new Cli(['demo', '-m', '2', '--size', '1'], {
      ...scratch.environment,
      RDMC_DEVICE: 'mlx9',
    }).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('ERR_RDMC_UNKNOWN_DEVICE');
    expect(scratch.left()).toEqual([]);
  });
});
