import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CastOptions, type CastSummary, castFile, castFiles, receiveFiles } from '@rdmc/cast';
import { until as become, mayMount, rejection, temporaryDirectory } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { MAX_PIECE_ENTRIES } from '../src/constants.js';
import { slow, someReceived, until } from './support/disturbed.js';
import {
  leftovers,
  outcome,
  ReceiverProcess,
  startReceivers,
  temporaries,
  visible,
} from './support/receivers.js';
import { describeTree, expectSameTree, seededBytes, write } from './support/tree.js';

const FILES = 20;
const root = mayMount();
const how = root ? '' : ' (enable: run the tests as root, who may mount)';
const mounts: string[] = [];

afterEach(() => {
  for (const each of mounts.splice(0)) execFileSync('/bin/umount', [each]);
});

function mount(...words: string[]): void {
  execFileSync('/bin/mount', words);
  mounts.push(words.at(-1)!);
}

function umount(place: string): void {
  execFileSync('/bin/umount', [place]);
  mounts.splice(mounts.indexOf(place), 1);
}

/** A tree of all kinds of entries, `root`, and the directory that it is in. */
function tree(): string {
  const from = temporaryDirectory();
  for (let number = 0; number < FILES; number += 1)
    write(from, `root/d${number % 3}/f${number}`, seededBytes(1_000 + number, number));
  mkdirSync(join(from, 'root/empty'));
  symlinkSync('../d0/f0', join(from, 'root/d1/link'));
  linkSync(join(from, 'root/d0/f0'), join(from, 'root/d2/same'));
  return from;
}

type Extra = Partial<CastOptions>;

function send(from: string, to: CastOptions['to'], extra: Extra = {}): Promise<CastSummary> {
  return castFile(join(from, 'root'), { to, ...extra }).finished;
}

/** Receivers that have `root` of a directory already. It is copied: a cast of it takes a dozen threads. */
async function receiversWith(from: string, count: number) {
  const receivers = await startReceivers(count);
  const directories = receivers.map(({ directory }) => directory);
  for (const directory of directories) execFileSync('cp', ['-a', join(from, 'root'), directory]);
  return { from, to: receivers.map((each) => each.to), directories, receivers };
}

const setUp = (count = 1) => receiversWith(tree(), count);

/** Changes a file so that its size stays the same, and its time does not. */
function change(from: string, name: string, seed: number): void {
  const path = join(from, name);
  writeFileSync(path, seededBytes(statSync(path).size, seed));
}

describe('a second cast', () => {
  it('of files with times before 1970 sends nothing', async () => {
    const { from, to, directories } = await setUp();
    for (const [name, time] of [
      ['f0', '-310000000.000001'],
      ['f3', '-1.5'],
      ['f6', '-2'],
    ] as const)
      utimesSync(join(from, 'root/d0', name), time, time);
    execFileSync('touch', ['-d', '1960-03-04 01:02:03.123456789', join(from, 'root/d0/f9')]);
    await send(from, to);
    expect(statSync(join(directories[0]!, 'root/d0/f3')).mtimeMs).toBeCloseTo(-1500, 2);
    expect(await send(from, to)).toMatchObject({ sentFiles: 0 });
  });

  it('of the same tree sends nothing, and needs no group', async () => {
    const { from, to, directories, receivers } = await setUp(2);
    for (const directory of directories) rmSync(join(directory, 'root'), { recursive: true });
    await send(from, to);
    const inodes = directories.map((directory) => statSync(join(directory, 'root/d0/f0')).ino);
    const cast = castFile(join(from, 'root'), { to });
    const summary = await cast.finished;
    expect(summary).toMatchObject({ files: FILES, directories: 5, links: 2, sentFiles: 0, sentBytes: 0 });
    const bytes = summary.bytes;
    for (const receiver of summary.receivers) {
      expect(receiver).toMatchObject({ state: 'complete', files: 0, bytes: 0, unchangedFiles: FILES });
      expect(receiver.unchangedBytes).toBe(bytes);
    }
    expect(cast.progress?.route).toBeUndefined();
    expect(directories.map((directory) => statSync(join(directory, 'root/d0/f0')).ino)).toEqual(inodes);
    for (const directory of directories) expectSameTree(directory, from);
    await Promise.all(receivers.map(({ receiver }) => receiver.close()));
  });

  it('sends what changed, what is new, and what is gone at a receiver, to those that lack it', async () => {
    const { from, to, directories } = await setUp(3);
    change(from, 'root/d0/f3', 99);
    write(from, 'root/new/file', 'new');
    unlinkSync(join(directories[1]!, 'root/d1/f1'));
    unlinkSync(join(directories[2]!, 'root/d1/link'));
    const summary = await send(from, to);
    expect(summary.sentFiles).toBe(3);
    expect(summary.receivers.map(({ files }) => files)).toEqual([2, 3, 2]);
    for (const directory of directories) expectSameTree(directory, from);
  });

  it('a receiver that lacks much and one that lacks little', async () => {
    const { from, to, directories } = await setUp(2);
    // So large that two groups move fewer bytes.
    const large = write(from, 'root/large', seededBytes(10_000_000, 5));
    execFileSync('cp', ['-a', large, join(directories[0]!, 'root')]);
    change(from, 'root/d0/f3', 99);
    const summary = await send(from, to);
    expect(summary.receivers).toMatchObject([
      { state: 'complete', files: 1 },
      { state: 'complete', files: 2 },
    ]);
    for (const directory of directories) expectSameTree(directory, from);
  });

  it('a changed mode is set without sending the file', async () => {
    const { from, to, directories } = await setUp();
    chmodSync(join(from, 'root/d0/f3'), 0o600);
    chmodSync(join(from, 'root/d1'), 0o750);
    expect(await send(from, to)).toMatchObject({ sentFiles: 0 });
    expectSameTree(directories[0]!, from);
  });

  it('a changed mode of a file with two names at the receiver: another file gets it, and the other name keeps its mode', async () => {
    const { from, to, directories } = await setUp();
    const outside = join(temporaryDirectory(), 'outside');
    linkSync(join(directories[0]!, 'root/d0/f3'), outside);
    chmodSync(join(from, 'root/d0/f3'), 0o777);
    await send(from, to);
    expect(statSync(outside).mode & 0o777).toBe(0o644);
    expectSameTree(directories[0]!, from);
  });

  it('a hard link that became a file, and a file that became a link', async () => {
    const { from, to, directories } = await setUp();
    rmSync(join(from, 'root/d2/same'));
    write(from, 'root/d2/same', 'another');
    rmSync(join(from, 'root/d0/f6'));
    symlinkSync('f0', join(from, 'root/d0/f6'));
    linkSync(join(from, 'root/d1/f1'), join(from, 'root/d1/f1-too'));
    await send(from, to);
    expectSameTree(directories[0]!, from);
  });

  it('the file of a hard link changes: both names get it', async () => {
    const { from, to, directories } = await setUp();
    change(from, 'root/d0/f0', 77);
    await send(from, to);
    expectSameTree(directories[0]!, from);
  });

  it("compare 'none': everything is sent again", async () => {
    const { from, to } = await setUp();
    expect(await send(from, to, { compare: 'none' })).toMatchObject({ sentFiles: FILES });
    expect(await send(from, to, { compare: 'none', update: true })).toMatchObject({ sentFiles: FILES });
  });

  it.each(['gmac', 'sha256'] as const)(
    "compare 'content' (%s): finds a change that size and time hide, and keeps equal files with other times",
    async (checksum) => {
      const { from, to, directories } = await setUp(2);
      const hidden = join(directories[0]!, 'root/d0/f3');
      writeFileSync(hidden, seededBytes(statSync(hidden).size, 1234));
      for (const path of [hidden, ...[from, directories[1]!].map((each) => join(each, 'root/d0/f3'))])
        utimesSync(path, 1_500_000_000, 1_500_000_000.5);
      utimesSync(join(from, 'root/d0/f6'), 1_600_000_000, 1_600_000_000.25);
      expect(await send(from, to, { dryRun: true })).toMatchObject({ sentFiles: 1 });
      const summary = await send(from, to, { compare: 'content', checksum });
      expect(summary.receivers.map(({ files }) => files)).toEqual([1, 0]);
      for (const directory of directories) expectSameTree(directory, from);
    },
  );

  it('more entries than a piece of the manifest holds', async () => {
    const ENTRIES = MAX_PIECE_ENTRIES + 10;
    const from = temporaryDirectory();
    for (let number = 0; number < ENTRIES; number += 1) symlinkSync('x', join(from, `l${number}`));
    const [receiver] = await startReceivers(1, { fsync: false });
    await castFile(from, { to: [receiver!.to] }).finished;
    const again = await castFile(from, { to: [receiver!.to] }).finished;
    expect(again).toMatchObject({ links: ENTRIES, directories: 1, problemCount: 0 });
    expect(again.receivers).toMatchObject([{ state: 'complete', files: 0 }]);
  });
});

/** Whether a cast in progress has a complete file. */
function hasCompleteFile(directory: string): boolean {
  const folders = temporaries(directory).map((name) => join(directory, name, 'tree/root'));
  return folders.some((folder) => existsSync(folder) && readdirSync(folder).length > 0);
}

describe('after a receiver was killed in the middle', () => {
  it('only what is missing is sent, and the tree is complete', async () => {
    // The cast takes 20 s from the first file on: it does not end before the kill.
    const count = 200;
    const from = temporaryDirectory();
    for (let number = 0; number < count; number += 1)
      write(from, `root/f${number}`, seededBytes(100_000, number));
    const receiver = await ReceiverProcess.start();
    const { directory } = receiver;
    const cast = castFile(join(from, 'root'), { to: [receiver.address], ...slow, bandwidthLimit: 1_000_000 });
    cast.finished.catch(() => {});
    await become(() => hasCompleteFile(directory), 5);
    await receiver.kill();
    await rejection(cast.finished);
    expect(visible(directory)).toEqual([]);
    const again = await ReceiverProcess.start({ directory });
    const [kept] = leftovers(directory);
    const stored = readdirSync(join(directory, kept!, 'tree/root')).length;
    const summary = await castFile(join(from, 'root'), { to: [again.address] }).finished;
    expect(stored).toBeGreaterThan(0);
    expect(summary.sentFiles).toBe(count - stored);
    expect(summary.receivers).toMatchObject([
      { state: 'complete', unchangedFiles: stored, resumedBytes: stored * 100_000 },
    ]);
    expectSameTree(directory, from);
  });
});

describe('a large file that changed', () => {
  const SIZE = 2_000_000;
  const CHANGED = 65_536;

  /** Receivers that have `root/z-large`, of which the sender has changed one byte. */
  async function changedLarge(count: number, size = SIZE) {
    const from = temporaryDirectory();
    const large = write(from, 'root/z-large', seededBytes(size, 1));
    const { to, directories } = await receiversWith(from, count);
    const bytes = readFileSync(large);
    bytes[1_000_000]! ^= 1;
    writeFileSync(large, bytes);
    return { from, to, directories, large };
  }

  it('is sent as the block that differs, and whole to a receiver without it', async () => {
    // So large that two groups move fewer bytes.
    const size = 10_000_000;
    const { from, to, directories } = await changedLarge(3, size);
    rmSync(join(directories[2]!, 'root/z-large'));
    const cast = castFile(join(from, 'root'), { to });
    const summary = await cast.finished;
    const kept = size - CHANGED;
    expect(summary).toMatchObject({
      files: 1,
      sentFiles: 1,
      sentBytes: size,
      transferredBytes: size + CHANGED,
    });
    expect(summary.receivers.map(({ files, bytes, keptBytes }) => [files, bytes, keptBytes])).toEqual([
      [1, size, kept],
      [1, size, kept],
      [1, size, 0],
    ]);
    expect(cast.progress).toMatchObject({ sentBytes: size + CHANGED, keptBytes: kept });
    for (const directory of directories) expectSameTree(directory, from);
  });

  it('is sent whole with wholeFiles', async () => {
    const { from, to, directories } = await changedLarge(1);
    const summary = await send(from, to, { wholeFiles: true });
    expect(summary).toMatchObject({ transferredBytes: SIZE, receivers: [{ keptBytes: 0 }] });
    expectSameTree(directories[0]!, from);
  });

  it('comes whole to a receiver whose older file changes meanwhile; the others are not concerned', async () => {
    const { from, to, directories } = await changedLarge(2);
    write(from, 'root/a-first', seededBytes(3_000_000, 8));
    const cast = castFile(join(from, 'root'), { to, ...slow });
    await until(cast, someReceived(0, 100_000));
    const older = join(directories[0]!, 'root/z-large');
    const { atime, mtime } = statSync(older);
    const bytes = readFileSync(older);
    bytes[100]! ^= 1;
    writeFileSync(older, bytes);
    utimesSync(older, atime, mtime);
    const summary = await cast.finished;
    expect(summary).toMatchObject({ problemCount: 0, sentFiles: 2, sentBytes: SIZE + 3_000_000 });
    expect(summary.transferredBytes).toBe(3_000_000 + CHANGED + SIZE);
    expect(summary.receivers.map(({ keptBytes }) => keptBytes)).toEqual([0, SIZE - CHANGED]);
    for (const directory of directories) expectSameTree(directory, from);
  });

  it('stays as it was where the receiver is killed in the middle', async () => {
    const from = temporaryDirectory();
    const large = write(from, 'root/large', seededBytes(6_000_000, 1));
    const receiver = await ReceiverProcess.start();
    await castFile(join(from, 'root'), { to: [receiver.address] }).finished;
    const older = readFileSync(large);
    writeFileSync(large, Buffer.concat([older.subarray(0, 3_000_000), seededBytes(3_000_000, 2)]));
    const cast = castFile(join(from, 'root'), { to: [receiver.address], ...slow });
    await until(cast, someReceived(0, 1_000_000));
    await receiver.kill();
    await rejection(cast.finished);
    const { directory } = receiver;
    expect(readFileSync(join(directory, 'root/large')).equals(older)).toBe(true);
    const again = await ReceiverProcess.start({ directory });
    await castFile(join(from, 'root'), { to: [again.address] }).finished;
    expectSameTree(directory, from);
  });

  it.runIf(root)(`stays as it was where the disk is full${how}`, async () => {
    const directory = temporaryDirectory();
    mount('-t', 'tmpfs', '-o', 'size=3m', 'none', directory);
    const from = temporaryDirectory();
    const large = write(from, 'root/large', seededBytes(SIZE, 1));
    const receiver = await receiveFiles({ directory, port: 0 });
    await castFile(join(from, 'root'), { to: [receiver.address] }).finished;
    const older = readFileSync(large);
    appendFileSync(large, 'more');
    expect(await rejection(castFile(join(from, 'root'), { to: [receiver.address] }).finished)).toMatchObject({
      code: 'ERR_RDMC_NO_SPACE',
    });
    expect(readFileSync(join(directory, 'root/large')).equals(older)).toBe(true);
    await receiver.close();
  });
});

describe('a file that changes', () => {
  it('between the comparison and the sending, and that another receiver has: is reported, and not sent', async () => {
    const { from, to, directories } = await setUp(2);
    unlinkSync(join(directories[0]!, 'root/d2/f5'));
    write(from, 'root/a-first', seededBytes(3_000_000, 8));
    const cast = castFile(join(from, 'root'), { to, ...slow });
    await until(cast, someReceived(0, 100_000));
    appendFileSync(join(from, 'root/d2/f5'), 'more');
    const summary = await cast.finished;
    expect(summary.problems).toMatchObject([{ path: 'root/d2/f5', code: 'ERR_RDMC_FILE_CHANGED' }]);
    expect(existsSync(join(directories[0]!, 'root/d2/f5'))).toBe(false);
    expect(await send(from, to)).toMatchObject({ problemCount: 0, sentFiles: 1 });
    for (const directory of directories) expectSameTree(directory, from);
  });
});

describe('update and existing', () => {
  it('update: files that are newer at the receiver stay', async () => {
    const { from, to, directories } = await setUp();
    const newer = join(directories[0]!, 'root/d0/f3');
    writeFileSync(newer, 'mine');
    change(from, 'root/d0/f6', 50);
    utimesSync(newer, new Date(), new Date(Date.now() + 60_000));
    expect(await send(from, to, { update: true })).toMatchObject({ sentFiles: 1 });
    expect(readFileSync(newer, 'utf8')).toBe('mine');
  });

  it('update: a newer file stays where the sender has a hard link', async () => {
    const { from, to, directories } = await setUp();
    const newer = join(directories[0]!, 'root/d2/same');
    rmSync(newer);
    writeFileSync(newer, 'mine');
    utimesSync(newer, new Date(), new Date(Date.now() + 60_000));
    const older = join(directories[0]!, 'root/d0/f0');
    await send(from, to, { update: true });
    expect(readFileSync(newer, 'utf8')).toBe('mine');
    expect(readFileSync(older)).toEqual(readFileSync(join(from, 'root/d0/f0')));
    await send(from, to);
    expect(statSync(newer).ino).toBe(statSync(older).ino);
  });

  it('existing: nothing is created', async () => {
    const { from, to, directories } = await setUp();
    const before = [...describeTree(directories[0]!).keys()];
    write(from, 'root/new/file', 'new');
    symlinkSync('x', join(from, 'root/new-link'));
    linkSync(join(from, 'root/d0/f3'), join(from, 'root/d0/new-name'));
    change(from, 'root/d0/f6', 50);
    expect(await send(from, to, { existing: true })).toMatchObject({ sentFiles: 1 });
    expect([...describeTree(directories[0]!).keys()]).toEqual(before);
    expect(statSync(join(directories[0]!, 'root/d0/f6')).mtimeMs).toBeCloseTo(
      statSync(join(from, 'root/d0/f6')).mtimeMs,
      2,
    );
  });
});

describe('filters and lists', () => {
  it('excluded entries are not sent; the first rule that matches decides', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1);
    const filters = [
      { action: 'include', pattern: 'f1?' },
      { action: 'exclude', pattern: 'f*' },
      { action: 'exclude', pattern: '/root/d2/' },
    ] as const;
    const summary = await send(from, [receiver!.to], { filters });
    expect(summary.problems).toEqual([]);
    const names = [...describeTree(receiver!.directory).keys()].sort();
    const kept = [
      'root/d0/f12',
      'root/d0/f15',
      'root/d0/f18',
      'root/d1/f10',
      'root/d1/f13',
      'root/d1/f16',
      'root/d1/f19',
    ];
    expect(names).toEqual(['root', 'root/d0', 'root/d1', 'root/d1/link', 'root/empty', ...kept].sort());
  });

  it('only listed paths are sent, with the directories that they are in', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1);
    const only = ['d0/f3', './d1//f1/', 'empty', 'd2', 'not-there', 'd0/f6/below'];
    const summary = await send(from, [receiver!.to], { only });
    expect(summary.problems).toMatchObject([
      { path: 'root/d0/f6', code: 'ERR_RDMC_UNSAFE_PATH' },
      { path: 'root/not-there', code: 'ERR_RDMC_NOT_FOUND' },
    ]);
    expect([...describeTree(receiver!.directory).keys()].sort()).toEqual(
      ['root', 'root/d0', 'root/d0/f3', 'root/d1', 'root/d1/f1', 'root/d2', 'root/empty'].sort(),
    );
  });

  it.each<[string, Extra, string]>([
    ['a malformed pattern', { filters: [{ action: 'exclude', pattern: 'a[' }] }, 'ERR_RDMC_INVALID_PATTERN'],
    [
      'an unknown action',
      { filters: [{ action: 'hide' as 'exclude', pattern: 'a' }] },
      'ERR_RDMC_INVALID_OPTION',
    ],
    ['a list that leads out', { only: ['a/../../b'] }, 'ERR_RDMC_UNSAFE_PATH'],
    ['a list with delete', { only: ['a'], delete: true }, 'ERR_RDMC_INVALID_OPTION'],
    ['another comparison', { compare: 'name' as 'content' }, 'ERR_RDMC_INVALID_OPTION'],
  ])('%s: refused before anything is connected', (_name, extra, code) => {
    const to = [{ host: '127.0.0.1', port: 1 }];
    expect(() => castFile('/nowhere', { to, ...extra })).toThrow(expect.objectContaining({ code }));
  });

  it('a list for two paths, or for a file: refused', async () => {
    const from = tree();
    const to = [{ host: '127.0.0.1', port: 1 }];
    for (const paths of [['root/d0', 'root/d1'], ['root/d0/f0']]) {
      const all = paths.map((path) => join(from, path));
      await expect(castFiles(all, { to, only: ['x'] }).finished).rejects.toMatchObject({
        code: 'ERR_RDMC_INVALID_OPTION',
      });
    }
  });
});

describe('delete', () => {
  /** What a receiver has and the sender does not. */
  function addSurplus(directory: string): string {
    const outside = temporaryDirectory();
    write(outside, 'precious', 'keep');
    write(directory, 'beside', 'not in a cast directory');
    write(directory, 'root/old', 'old');
    write(directory, 'root/d0/old/deep/file', 'old');
    write(directory, 'root/d0/old/deep/notes.keep', 'excluded');
    symlinkSync(outside, join(directory, 'root/d1/out'));
    return outside;
  }
  const keep = [{ action: 'exclude', pattern: '*.keep' }] as const;

  it('removes what the sender does not have, at the end; nothing else, and nothing outside', async () => {
    const { from, to, directories } = await setUp(2);
    const outside = addSurplus(directories[0]!);
    const summary = await send(from, to, { delete: true });
    expect(summary.receivers.map(({ removed }) => removed)).toEqual([6, 0]);
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('keep');
    expect(readFileSync(join(directories[0]!, 'beside'), 'utf8')).toContain('not');
    rmSync(join(directories[0]!, 'beside'));
    for (const directory of directories) expectSameTree(directory, from);
  });

  it('keeps excluded entries with the directories that they are in, and the incomplete files of a receiver in one below', async () => {
    const { from, to, directories } = await setUp();
    addSurplus(directories[0]!);
    const incomplete = write(directories[0]!, 'root/d0/.rdmc-cast-123/owner', 'another receiver');
    await send(from, to, { delete: true, filters: keep });
    const names = [...describeTree(join(directories[0]!, 'root')).keys()];
    expect(names).toContain('d0/old/deep/notes.keep');
    expect(names).not.toContain('d0/old/deep/file');
    expect(names).not.toContain('old');
    expect(existsSync(incomplete)).toBe(true);
  });

  it('removes nothing where the sender could not read everything, or the receiver could not store it', async () => {
    const { from, to, directories } = await setUp();
    addSurplus(directories[0]!);
    mkdirSync(join(from, 'root/conflict'));
    write(directories[0]!, 'root/conflict', 'a file');
    const summary = await send(from, to, { delete: true });
    expect(summary.problemCount).toBeGreaterThan(0);
    expect(existsSync(join(directories[0]!, 'root/old'))).toBe(true);
    expect(summary.receivers).toMatchObject([{ removed: 0 }]);
  });

  it('a directory of the cast that is a symbolic link at the receiver: nothing is removed through it', async () => {
    const { from, to, directories } = await setUp();
    const outside = temporaryDirectory();
    write(outside, 'precious', 'keep');
    rmSync(join(directories[0]!, 'root/d0'), { recursive: true });
    symlinkSync(outside, join(directories[0]!, 'root/d0'));
    const summary = await send(from, to, { delete: true });
    expect(summary.problemCount).toBeGreaterThan(0);
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('keep');
    expect(lstatSync(join(directories[0]!, 'root/d0')).isSymbolicLink()).toBe(true);
  });

  it.runIf(root)(`does not remove what is in another file system${how}`, async () => {
    const { from, to, directories } = await setUp();
    const mounted = join(directories[0]!, 'root/old/mounted');
    write(mounted, 'covered', 'old');
    mount('-t', 'tmpfs', 'none', mounted);
    write(mounted, 'precious', 'keep');
    const summary = await send(from, to, { delete: true });
    expect(summary.problems).toMatchObject([{ path: 'root/old', code: 'ERR_RDMC_OTHER_FILE_SYSTEM' }]);
    expect(readFileSync(join(mounted, 'precious'), 'utf8')).toBe('keep');
  });

  it.runIf(root)(`keeps an entry that has another name of the same meaning${how}`, async () => {
    const { from, to, directories } = await setUp();
    // As where the file system ignores case: two names, one directory with one link count.
    const other = join(directories[0]!, 'root/D0');
    mkdirSync(other);
    mount('--bind', join(directories[0]!, 'root/d0'), other);
    write(directories[0]!, 'root/old', 'old');
    linkSync(join(directories[0]!, 'root/d1/f1'), join(directories[0]!, 'root/d1/further-link'));
    const summary = await send(from, to, { delete: true });
    expect(summary).toMatchObject({ problemCount: 0, receivers: [{ removed: 2 }] });
    umount(other);
    rmdirSync(other);
    expectSameTree(join(directories[0]!, 'root'), join(from, 'root'));
  });
});

describe('a dry run', () => {
  it('lists what a cast would change at each receiver, and changes nothing', async () => {
    const { from, to, directories, receivers } = await setUp(2);
    write(directories[0]!, 'root/old/file', 'old');
    change(from, 'root/d0/f3', 99);
    write(from, 'root/new', 'four');
    chmodSync(join(from, 'root/d1/f1'), 0o600);
    const before = directories.map((directory) => describeTree(directory));
    const summary = await send(from, to, { dryRun: true, delete: true });
    expect(summary).toMatchObject({ files: FILES + 1, sentFiles: 2, problemCount: 0 });
    const [first, second] = summary.receivers.map(({ changes }) =>
      changes!.map(({ change: what, path, kind, bytes }) => `${what} ${kind} ${path} ${bytes}`),
    );
    const both = [
      'attributes file root/d1/f1 1001',
      'create file root/new 4',
      'replace file root/d0/f3 1003',
    ];
    expect(second!.filter((line) => !line.includes(' directory '))).toEqual(expect.arrayContaining(both));
    expect(first).toEqual(expect.arrayContaining([...both, 'remove directory root/old 0']));
    expect(second!.some((line) => line.startsWith('remove'))).toBe(false);
    expect(directories.map((directory) => describeTree(directory))).toEqual(before);
    await Promise.all(receivers.map(({ receiver }) => receiver.close()));
  });

  it('reports what could not be stored', async () => {
    const { from, to, directories } = await setUp();
    rmSync(join(directories[0]!, 'root/d0'), { recursive: true });
    write(directories[0]!, 'root/d0', 'a file');
    mkdirSync(join(directories[0]!, 'root/f'), { recursive: true });
    const summary = await send(from, to, { dryRun: true });
    const real = await send(from, to);
    expect(summary.receivers[0]!.code).toBe('ERR_RDMC_PARTIAL');
    expect(real.receivers[0]!.code).toBe('ERR_RDMC_PARTIAL');
  });

  it('does not end a receiver that takes one cast', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1, { once: true });
    const asked = outcome(receiver!.receiver);
    await send(from, [receiver!.to], { dryRun: true });
    expect(await asked).toMatchObject({ type: 'complete', dryRun: true });
    await send(from, [receiver!.to]);
    await receiver!.receiver.closed;
    expectSameTree(receiver!.directory, from);
  });
});

describe('a receiver that claims to have everything', () => {
  it('gets nothing, and the others get everything', async () => {
    const from = tree();
    const [honest] = await startReceivers(1);
    const directory = temporaryDirectory();
    await using liar = await receiveFiles({ directory, port: 0 });
    await send(from, [liar.address]);
    // The size and the time of the real file, with other contents: it claims to have what it does not.
    const victim = join(directory, 'root/d0/f3');
    const { atime, mtime, size } = statSync(join(from, 'root/d0/f3'));
    writeFileSync(victim, Buffer.alloc(size, 'lie'));
    utimesSync(victim, atime, mtime);
    const summary = await send(from, [honest!.to, liar.address]);
    expect(summary.receivers).toMatchObject([{ files: FILES }, { files: expect.any(Number) }]);
    expectSameTree(honest!.directory, from);
  });
});
