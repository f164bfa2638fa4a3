import { statfsSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { castFile, receiveFiles } from '@rdmc/cast';
import { mayMount, rejection, smallDisk, temporaryDirectory } from '@rdmc/testing';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MIB } from '../src/constants.js';
import { allMessages } from './support/local-cast.js';
import { LocalDelta } from './support/local-delta.js';
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

/** A tree of files of so many MiB. Returns its path. */
function source(sizes: Readonly<Record<string, number>>): string {
  const from = temporaryDirectory();
  for (const [name, size] of Object.entries(sizes)) {
    const file = write(from, `root/${name}`, seededBytes(size * MIB, size));
    utimesSync(file, 1_000_000_000, 1_000_000_000);
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
  async function castAgain(sizes: Readonly<Record<string, number>>, size: number) {
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
