import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { linkSync, statfsSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { castFile, receiveFiles } from '@rdmc/cast';
import { mayMount, rejection, smallDisk, temporaryDirectory } from '@rdmc/testing';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MIB, REPLACED_AHEAD_BYTES } from '../src/constants.js';
import { ManifestReader } from '../src/reader/manifest-reader.js';
import { resolveRoots } from '../src/reader/roots.js';
import { Survey } from '../src/reader/survey.js';
import { DurableWriter } from '../src/writer/durable-writer.js';
import { NeededRoom } from '../src/writer/needed-room.js';
import { systemSync } from '../src/writer/sync-port.js';
import { allMessages, CHECKSUM, readerOf } from './support/local-cast.js';
import { LocalDelta } from './support/local-delta.js';
import { policy } from './support/policy.js';
import { leftovers } from './support/receivers.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, statfsSync: vi.fn(fs.statfsSync) };
});

const root = mayMount();
const how = root ? '' : ' (enable: run the tests as root, who may mount)';
const resume = { limit: { share: 1 }, authenticated: true, neededBytes: 0 };
const MESSAGE_BYTES = MIB / 2;
/** More than journals, and the blocks of directories. */
const OVERHEAD_BYTES = MIB / 4;

/** Until the end of the test, every file system has so many free bytes. */
function withFreeBytes(bytes: number): void {
  const mock = vi.mocked(statfsSync as (path: string) => unknown);
  const real = mock.getMockImplementation()!;
  mock.mockImplementation((path) => ({ ...(real(path) as object), bavail: bytes, bsize: 1 }));
  onTestFinished(() => void mock.mockImplementation(real));
}

type Sizes = Readonly<Record<string, number>>;

/** A tree of files of so many MiB. Returns its path. */
function source(sizes: Sizes, version = 1): string {
  const from = temporaryDirectory();
  for (const [name, size] of Object.entries(sizes)) {
    const file = write(from, `root/${name}`, seededBytes(size * MIB, version * 100 + size));
    utimesSync(file, 1_000_000_000 + version, 1_000_000_000 + version);
  }
  return join(from, 'root');
}

/** A cast that is interrupted when so many MiB are stored. */
function interrupt(path: string, to: string, size: number): void {
  using cast = new LocalDelta(path, [to], { resume });
  const [group] = cast.plan();
  const messages = allMessages(cast.reader(group!), MESSAGE_BYTES);
  cast.send(messages.slice(0, (size * MIB) / MESSAGE_BYTES + 1), group!.members);
}

describe('the room that a receiver tells after the comparison', () => {
  it('does not count a file of an interrupted cast that has its name now, and counts a partial one', () => {
    const [path, to] = [source({ a: 4, b: 6 }), temporaryDirectory()];
    interrupt(path, to, 6);
    withFreeBytes(100 * MIB);
    using cast = new LocalDelta(path, [to], { resume });
    const [{ writer }] = cast.receivers as [LocalDelta['receivers'][number]];
    const left = writer.resumedBytes - 4 * MIB;
    expect(left).toBeGreaterThan(MIB);
    writer.surplus();
    expect(writer.roomBytes).toBeGreaterThanOrEqual(100 * MIB + left);
    expect(writer.roomBytes).toBeLessThan(100 * MIB + left + MESSAGE_BYTES + OVERHEAD_BYTES);
  });

  it('counts what a dry run takes nothing of as free', () => {
    const [path, to] = [source({ a: 4, b: 6 }), temporaryDirectory()];
    interrupt(path, to, 6);
    withFreeBytes(100 * MIB);
    using cast = new LocalDelta(path, [to], { resume }, { dryRun: true, resume: false, delta: false });
    const [{ writer }] = cast.receivers as [LocalDelta['receivers'][number]];
    writer.surplus();
    expect(writer.roomBytes).toBeGreaterThan(105 * MIB);
    expect(leftovers(to)).toHaveLength(1);
  });
});

it('leftovers are removed until there is room, without what the cast has taken from them', () => {
  const to = temporaryDirectory();
  interrupt(source({ a: 4 }), to, 4);
  const [older] = leftovers(to);
  interrupt(source({ c: 8 }), to, 4);
  utimesSync(join(to, older!), 1_000_000, 1_000_000);
  withFreeBytes(4 * MIB);
  // 6 MiB are needed, and the older leftover has only the file of 4 MiB that the cast takes.
  using cast = new LocalDelta(source({ a: 4, b: 6 }), [to], { resume });
  expect(leftovers(to)).toHaveLength(2);
  cast.receivers[0]!.writer.surplus();
  expect(leftovers(to)).toEqual([]);
});

describe(`a disk with what an interrupted cast has left${how}`, () => {
  /** Casts files of so many MiB to a disk of 12 MiB, with what is left of them. */
  async function castAgain(sizes: Sizes, size: number) {
    const [path, directory] = [source(sizes), smallDisk('size=12m')];
    interrupt(path, directory, size);
    const receiver = await receiveFiles({ directory, port: 0 });
    onTestFinished(() => receiver.close());
    return { path, directory, finished: castFile(path, { to: [receiver.address] }).finished };
  }

  it.runIf(root)('is too small where a complete file takes the room of another one', async () => {
    const { finished } = await castAgain({ a: 4, b: 10 }, 4);
    const error = await rejection(finished);
    expect(error).toMatchObject({ code: 'ERR_RDMC_NO_SPACE' });
    expect(error.message).toContain('has room for');
  });

  it.runIf(root)('is large enough where only the rest of a partial file is missing', async () => {
    const { path, directory, finished } = await castAgain({ a: 4, b: 7 }, 8);
    expect(await finished).toMatchObject({ problemCount: 0 });
    expectSameTree(join(directory, 'root'), path);
  });
});

describe('files that replace others', () => {
  const SIX: Sizes = { a: 4, b: 4, c: 4, d: 4, e: 4, f: 4 };
  /** What the older ones of six files free in time. */
  const FREED = 5 * 4 * MIB - REPLACED_AHEAD_BYTES;

  /** The room for six files, with a disk of 100 free MiB. @param prepare changes the directory with the older ones */
  function roomFor(prepare: (older: string) => void = () => {}): number {
    const [path, to] = [source(SIX, 2), temporaryDirectory()];
    execFileSync('cp', ['-a', source(SIX), to]);
    prepare(join(to, 'root'));
    withFreeBytes(100 * MIB);
    using cast = new LocalDelta(path, [to]);
    const [{ writer }] = cast.receivers as [LocalDelta['receivers'][number]];
    writer.surplus();
    return writer.roomBytes;
  }

  it('may take the room of the older ones, except that of the largest, and of those that wait for their sync', () => {
    expect(roomFor()).toBe(100 * MIB + FREED);
  });

  it('may not take that of a file with further names', () => {
    const linked = (older: string): void => linkSync(join(older, 'a'), join(older, '../further'));
    expect(roomFor(linked)).toBe(100 * MIB + FREED - 4 * MIB);
  });

  it('free no more than they take themselves: they may come last', () => {
    const room = new NeededRoom();
    for (let file = 0; file < 5; file += 1) {
      room.add(10 * MIB);
      room.addReplaced(10 * MIB, 90 * MIB);
    }
    expect(room.ownBytes).toBe(40 * MIB - REPLACED_AHEAD_BYTES);
    expect(room.missingBytes).toBe(10 * MIB + REPLACED_AHEAD_BYTES);
    expect(room.bytesBesideOlder).toBe(50 * MIB);
  });

  it('need more than is free where only one is replaced', () => {
    const room = new NeededRoom();
    room.add(100 * MIB);
    room.addReplaced(100 * MIB, 100 * MIB);
    expect(room.missingBytes).toBe(100 * MIB);
  });

  /** Casts four files of 6 MiB in one message. Returns how many of them were synced at the same time. */
  async function syncedAtOnce(freeBytes: number): Promise<number> {
    const sizes = { a: 6, b: 6, c: 6, d: 6 };
    const [path, to] = [source(sizes, 2), temporaryDirectory()];
    execFileSync('cp', ['-a', source(sizes), to]);
    withFreeBytes(freeBytes);
    let [running, most] = [0, 0];
    const file = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
    };
    const ports = { policy: { ...policy, remove: false } };
    const writer = new DurableWriter(to, randomUUID(), CHECKSUM, { ...systemSync, file }, ports);
    const { entries } = new Survey(resolveRoots([Buffer.from(path)]));
    const { count, data } = new ManifestReader(entries, undefined).piece(0).piece;
    writer.examine(0, count, data);
    writer.surplus();
    const [message] = allMessages(readerOf([path]), 32 * MIB);
    await writer.store(0, message!);
    expect(await writer.finish(1)).toMatchObject({ files: 4, problemCount: 0 });
    expectSameTree(join(to, 'root'), path);
    return most;
  }

  it('get their names sooner where the others need the room of the older ones', async () => {
    expect(await syncedAtOnce(23 * MIB)).toBe(3);
    expect(await syncedAtOnce(24 * MIB)).toBe(4);
  });

  it.runIf(root)(
    `are stored on a disk that has no room for all of them beside the older ones${how}`,
    async () => {
      const [path, directory] = [source(SIX, 2), smallDisk('size=46m')];
      execFileSync('cp', ['-a', source(SIX), directory]);
      const receiver = await receiveFiles({ directory, port: 0 });
      onTestFinished(() => receiver.close());
      const summary = await castFile(path, { to: [receiver.address] }).finished;
      expect(summary).toMatchObject({ problemCount: 0, sentFiles: 6 });
      expectSameTree(join(directory, 'root'), path);
    },
  );
});
