import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CastOptions, type CastSummary, castFile } from '@rdmc/cast';
import { temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { ToldAttributes } from '../src/archive/told-attributes.js';
import { newChecksum } from '../src/checksum.js';
import { resolveRoots } from '../src/reader/roots.js';
import { StreamReader } from '../src/reader/stream-reader.js';
import { Survey } from '../src/reader/survey.js';
import { ReceiverProcess, startReceivers } from './support/receivers.js';
import { seededBytes, write } from './support/tree.js';

const isRoot = process.getuid?.() === 0;
const how = isRoot ? '' : ' (enable: run the tests as root, who may set owners)';
/** No users of this host. */
const [USER, OTHER, GROUP] = [54_321, 54_322, 54_323];
const NOBODY = 65_534;
const KEY = 'a key for the tests of archive casts';

interface Held {
  readonly owner: string;
  readonly mode: string;
}

function held(directory: string, name: string): Held {
  const { uid, gid, mode } = lstatSync(join(directory, name));
  return { owner: `${uid}:${gid}`, mode: (mode & 0o7777).toString(8) };
}

/** A tree whose entries have other owners and special modes. */
function tree(): string {
  const from = temporaryDirectory();
  write(from, 'root/plain', 'plain');
  write(from, 'root/program', seededBytes(3_000_000, 1));
  write(from, 'root/team/file', 'team');
  symlinkSync('plain', join(from, 'root/link'));
  linkSync(join(from, 'root/plain'), join(from, 'root/same'));
  chownSync(join(from, 'root'), USER, GROUP);
  chownSync(join(from, 'root/plain'), USER, GROUP);
  chownSync(join(from, 'root/program'), OTHER, GROUP);
  chmodSync(join(from, 'root/program'), 0o6755);
  chownSync(join(from, 'root/team'), 0, GROUP);
  chmodSync(join(from, 'root/team'), 0o3775);
  lchownSync(join(from, 'root/link'), OTHER, GROUP);
  return from;
}

const ENTRIES = [
  'root',
  'root/plain',
  'root/program',
  'root/team',
  'root/team/file',
  'root/link',
  'root/same',
];

function all(directory: string): Record<string, Held> {
  return Object.fromEntries(ENTRIES.map((name) => [name, held(directory, name)]));
}

function send(from: string, to: CastOptions['to'], extra: Partial<CastOptions> = {}): Promise<CastSummary> {
  return castFile(join(from, 'root'), { to, archive: true, ...extra }).finished;
}

describe(`an archive cast${how}`, () => {
  it.runIf(isRoot)(
    'gives entries their owners and special mode bits, and sends nothing the next time',
    async () => {
      const from = tree();
      const [one, two] = await startReceivers(2, { archive: true });
      const to = [one!.to, two!.to];
      const { receivers, problems } = await send(from, to);
      expect(problems).toEqual([]);
      for (const { directory } of [one!, two!]) expect(all(directory)).toEqual(all(from));
      expect(receivers.map(({ unset }) => unset)).toEqual([undefined, undefined]);
      const before = statSync(join(one!.directory, 'root/plain')).ino;
      expect(await send(from, to)).toMatchObject({ sentFiles: 0 });
      expect(statSync(join(one!.directory, 'root/plain')).ino).toBe(before);
    },
  );

  it.runIf(isRoot)('sets owners that changed without sending files; a dry run tells them', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1, { archive: true });
    const { to, directory } = receiver!;
    await send(from, [to]);
    chownSync(join(from, 'root/plain'), OTHER, GROUP);
    chownSync(join(from, 'root/team'), USER, USER);
    chmodSync(join(from, 'root/team'), 0o2775);
    lchownSync(join(from, 'root/link'), USER, USER);
    const changed = { ...all(from) };
    // It has two names, of which one may be outside: it is replaced.
    const before = statSync(join(directory, 'root/team/file')).ino;
    const preview = await send(from, [to], { dryRun: true });
    const kinds = new Map(preview.receivers[0]!.changes!.map(({ path, change }) => [path, change]));
    expect(Object.fromEntries(kinds)).toMatchObject({ 'root/team': 'attributes', 'root/link': 'replace' });
    expect(all(directory)).not.toEqual(changed);
    const { problems } = await send(from, [to]);
    expect(problems).toEqual([]);
    expect(all(directory)).toEqual(changed);
    expect(statSync(join(directory, 'root/team/file')).ino).toBe(before);
    chownSync(join(from, 'root/team/file'), USER, GROUP);
    expect(await send(from, [to])).toMatchObject({ sentFiles: 0 });
    expect(held(directory, 'root/team/file')).toEqual(held(from, 'root/team/file'));
    expect(statSync(join(directory, 'root/team/file')).ino).toBe(before);
  });

  it.runIf(isRoot)('to a receiver that did not ask for it sets nothing of this, and says so', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1);
    const { to, directory } = receiver!;
    // The owner of root/team/file is the right one by itself.
    const unset = { accepted: false, owners: 5, modes: 2, attributes: 0 };
    const preview = await send(from, [to], { dryRun: true });
    expect(preview.receivers).toMatchObject([{ unset }]);
    const { receivers, problems } = await send(from, [to]);
    expect(problems).toEqual([]);
    expect(receivers).toMatchObject([{ state: 'complete', unset }]);
    for (const { owner, mode } of Object.values(all(directory))) {
      expect(owner).toBe('0:0');
      expect(Number.parseInt(mode, 8) & 0o7000).toBe(0);
    }
    expect(await send(from, [to])).toMatchObject({ sentFiles: 0, receivers: [{ unset }] });
    for (const name of ['root/plain', 'root/program']) chownSync(join(directory, name), USER, GROUP);
    expect(await send(from, [to])).toMatchObject({
      sentFiles: 0,
      receivers: [{ unset: { accepted: false, owners: 4, modes: 2 } }],
    });
  });

  it.runIf(isRoot)('to a receiver that is not root says what it may not set, and is no failure', async () => {
    const from = tree();
    const directory = temporaryDirectory();
    chownSync(directory, NOBODY, NOBODY);
    const receiver = await ReceiverProcess.start({ directory, key: KEY, archive: true }, NOBODY);
    const options = { key: KEY };
    const preview = await send(from, [receiver.address], { ...options, dryRun: true });
    expect(preview.receivers).toMatchObject([
      { unset: { accepted: true, owners: 6, modes: 2, attributes: 0 } },
    ]);
    const { receivers, problems } = await send(from, [receiver.address], options);
    expect(problems).toEqual([]);
    // The set-user-id and set-group-id bits are those of another owner; the sticky bit is set.
    expect(receivers).toMatchObject([
      { state: 'complete', unset: { accepted: true, owners: 6, modes: 2, attributes: 0 } },
    ]);
    expect(held(directory, 'root/program')).toEqual({ owner: `${NOBODY}:${NOBODY}`, mode: '755' });
    expect(held(directory, 'root/team').mode).toBe('1775');
    const again = await send(from, [receiver.address], options);
    expect(again).toMatchObject({ sentFiles: 0 });
    expect(again.receivers).toMatchObject([
      { unset: { accepted: true, owners: 6, modes: 2, attributes: 0 } },
    ]);
  });

  it.runIf(isRoot)('does not make a file of somebody else one that runs as its owner', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1, { archive: true });
    const { to, directory } = receiver!;
    await send(from, [to]);
    // Same size and time, other contents, and an owner who may have written them.
    const { atimeMs, mtimeMs, size } = statSync(join(from, 'root/program'));
    const place = join(directory, 'root/program');
    rmSync(place);
    write(directory, 'root/program', seededBytes(size, 2));
    chownSync(place, NOBODY, NOBODY);
    utimesSync(place, atimeMs / 1000, mtimeMs / 1000);
    const inode = statSync(place).ino;
    const { problems } = await send(from, [to]);
    expect(problems).toEqual([]);
    expect(statSync(place).ino).not.toBe(inode);
    expect(all(directory)).toEqual(all(from));
    expect(await send(from, [to], { compare: 'content' })).toMatchObject({ sentFiles: 0 });
  });

  it.runIf(isRoot)('gives up a file whose owner changes between its listing and its reading', () => {
    const from = tree();
    const told = new ToldAttributes(undefined);
    const { entries } = new Survey(resolveRoots([Buffer.from(join(from, 'root'))]), { told });
    // Somebody else has put another file in the place of the program, with the same size and time.
    const { atimeMs, mtimeMs } = statSync(join(from, 'root/program'));
    const other = write(from, 'other', seededBytes(3_000_000, 2));
    utimesSync(other, atimeMs / 1000, mtimeMs / 1000);
    chownSync(other, NOBODY, NOBODY);
    renameSync(other, join(from, 'root/program'));
    const reader = new StreamReader(entries, newChecksum('gmac'), { told });
    const target = Buffer.alloc(8 * 1024 * 1024);
    expect(reader.fill(0, target).last).toBe(true);
    expect(reader.problems.kept).toMatchObject([{ path: 'root/program', code: 'ERR_RDMC_FILE_CHANGED' }]);
    reader.close();
  });

  it.runIf(isRoot)('updates directories that exist', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1, { archive: true });
    const { to, directory } = receiver!;
    mkdirSync(join(directory, 'root/team'), { recursive: true });
    await send(from, [to]);
    expect(all(directory)).toEqual(all(from));
  });
});

describe('the options of an archive cast', () => {
  const to = [{ host: '127.0.0.1' }];
  const codeOf = (options: Partial<CastOptions>): string =>
    (thrown(() => castFile('/dev/null', { to, ...options })) as unknown as { code: string }).code;

  it('are refused where they do not fit', () => {
    expect(codeOf({ numericIds: true })).toBe('ERR_RDMC_INVALID_OPTION');
    expect(codeOf({ archive: true, waitFor: 1 })).toBe('ERR_RDMC_INVALID_OPTION');
    expect(codeOf({ archive: 1 as unknown as boolean })).toBe('ERR_RDMC_INVALID_OPTION');
  });

  it('are told to receivers that compare nothing, too', async () => {
    const from = temporaryDirectory();
    write(from, 'root/file', 'file');
    chmodSync(join(from, 'root'), 0o1755);
    const [receiver] = await startReceivers(1);
    const summary = await send(from, [receiver!.to], { compare: 'none', numericIds: true });
    const unset = { accepted: false, owners: 0, modes: 1 };
    expect(summary.receivers).toMatchObject([{ state: 'complete', unset }]);
  });
});
