import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DELTA_BLOCK_BYTES, DELTA_FILE_BYTES, KEPT_DAYS_MS } from '../src/constants.js';
import { expireKept, makeRoom, openKept, removeKept } from '../src/resume/kept-data.js';
import { KeptStore } from '../src/resume/kept-store.js';
import { checkResumeLimit } from '../src/resume/resume-limit.js';
import { removeLeftovers } from '../src/writer/leftovers.js';
import type { StoredReport } from '../src/writer/stored-report.js';
import type { WriterPorts } from '../src/writer/writer-ports.js';
import { asAfterKill } from './support/killed.js';
import { allMessages } from './support/local-cast.js';
import { LocalDelta } from './support/local-delta.js';
import { leftovers, temporaries, visible } from './support/receivers.js';
import { expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

const SIZE = 2 * DELTA_FILE_BYTES + 5000;
const MESSAGE_BYTES = 128 * 1024;
const ports = (over: Partial<NonNullable<WriterPorts['resume']>> = {}): WriterPorts => ({
  resume: { limit: { share: 1 }, authenticated: true, neededBytes: 0, ...over },
});
const keeping = ports();

/** A cast that is interrupted when so many of its messages are stored. */
function interrupt(path: string, directories: readonly string[], messages: number, how = keeping): void {
  using cast = new LocalDelta(path, directories, how);
  for (const group of cast.plan())
    cast.send(allMessages(cast.reader(group), MESSAGE_BYTES).slice(0, messages), group.members);
}

/** A whole cast. Returns its reports, and the bytes of its messages. */
function castAll(path: string, directories: readonly string[], how = keeping) {
  using cast = new LocalDelta(path, directories, how);
  cast.sendAll(MESSAGE_BYTES);
  return { reports: cast.finish(), sentBytes: cast.sentBytes };
}

/** Always the same times, so that only contents tell files apart. */
function setTimes(path: string): void {
  utimesSync(path, 1_000_000_000, 1_000_000_000);
}

/** A tree with one large file. */
function source(contents: Buffer = seededBytes(SIZE, 1)): string {
  const from = temporaryDirectory();
  write(from, 'root/large', contents);
  setTimes(join(from, 'root/large'));
  write(from, 'root/a', 'small');
  return join(from, 'root');
}

function expectArrived(path: string, directory: string): void {
  expect(visible(directory)).toEqual(['root']);
  expect([...temporaries(directory), ...leftovers(directory)]).toEqual([]);
  expectSameTree(join(directory, 'root'), path);
}

/** The path of the only file of that kind that an interrupted cast has left. */
function left(directory: string, kind: 'part-' | 'journal-'): string {
  const [kept] = leftovers(directory);
  const name = readdirSync(join(directory, kept!)).find((each) => each.startsWith(kind))!;
  return join(directory, kept!, name);
}

/** What was interrupted after ten messages, and its directory. */
function interrupted(how = keeping, contents?: Buffer) {
  const [path, to] = [source(contents), temporaryDirectory()];
  interrupt(path, [to], 10, how);
  return { path, to };
}

const almost = (bytes: number): number => bytes + 20_000;

describe('an interrupted cast', () => {
  it('shows nothing of a new directory, and continues where it stopped', () => {
    const { path, to } = interrupted();
    expect(readdirSync(to)).toEqual([expect.stringMatching(/^\.rdmc-cast-kept-/)]);
    expect(lstatSync(join(to, leftovers(to)[0]!)).mode & 0o777).toBe(0o700);
    const { reports, sentBytes } = castAll(path, [to]);
    expect(reports[0]).toMatchObject({ files: 1, unchangedFiles: 1, problemCount: 0 });
    expect(reports[0]!.resumedBytes).toBeGreaterThan(9 * MESSAGE_BYTES);
    expect(sentBytes).toBeLessThan(almost(SIZE - reports[0]!.resumedBytes));
    expectArrived(path, to);
  });

  it('of which nothing was authenticated, too', () => {
    const how = ports({ authenticated: false });
    const { path, to } = interrupted(how);
    const { reports, sentBytes } = castAll(path, [to], how);
    expect(sentBytes).toBeLessThan(almost(SIZE - reports[0]!.resumedBytes));
    expectArrived(path, to);
  });

  it('that did not sync continues after the same start of the host only', () => {
    const { path, to } = interrupted();
    write(join(to, leftovers(to)[0]!), 'boot', 'another');
    const { reports } = castAll(path, [to]);
    expect(reports[0]).toMatchObject({ resumedBytes: 0, unchangedFiles: 0, files: 2 });
    expectArrived(path, to);
  });

  it.each([
    ['the sender', false, true],
    ['the receiver', true, false],
  ])('leaves nothing where %s does not want it', (_who, wanted, port) => {
    const [path, to] = [source(), temporaryDirectory()];
    {
      using cast = new LocalDelta(path, [to], port ? keeping : {}, { resume: wanted });
      const [group] = cast.plan();
      cast.send(allMessages(cast.reader(group!), MESSAGE_BYTES).slice(0, 10), [0]);
    }
    expect(readdirSync(to)).toEqual([]);
  });

  it('at any messages, as often as it happens, with receivers that stop at different ones, ends with equal trees', () => {
    const stops = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { minLength: 1, maxLength: 3 });
    const authenticated = fc.boolean();
    fc.assert(
      fc.property(stops, authenticated, (pairs, isAuthenticated) => {
        const how = ports({ authenticated: isAuthenticated });
        const path = source();
        const [one, other] = [temporaryDirectory(), temporaryDirectory()];
        for (const [first, second] of pairs) {
          interrupt(path, [one], first, how);
          interrupt(path, [other], second, how);
          for (const to of [one, other]) expect(existsSync(join(to, 'root'))).toBe(false);
        }
        castAll(path, [one, other], how);
        expectArrived(path, one);
        expectArrived(path, other);
      }),
      { numRuns: 12 },
    );
  });

  it('of a file that has an older form continues with both', () => {
    const from = temporaryDirectory();
    const contents = seededBytes(SIZE, 1);
    const path = write(from, 'large', contents);
    const older = Buffer.from(contents);
    // The first half of the file differs.
    seededBytes(DELTA_FILE_BYTES, 2).copy(older);
    const to = temporaryDirectory();
    write(to, 'large', older);
    interrupt(path, [to], 6);
    expect(readFileSync(join(to, 'large')).equals(older)).toBe(true);
    const { reports, sentBytes } = castAll(path, [to]);
    expect(sentBytes).toBeLessThan(DELTA_FILE_BYTES / 2);
    expect(reports[0]).toMatchObject({ files: 1, problemCount: 0 });
    expect(readFileSync(join(to, 'large')).equals(contents)).toBe(true);
    expect(leftovers(to)).toEqual([]);
  });

  it('of a sparse file: holes replace what has been there', () => {
    const contents = seededBytes(SIZE, 1);
    const { path, to } = interrupted(keeping, contents);
    // The same size and time, and now a hole in the part that is there.
    const large = join(path, 'large');
    contents.fill(0, DELTA_BLOCK_BYTES, 4 * DELTA_BLOCK_BYTES);
    const descriptor = openSync(large, 'w');
    closeSync(descriptor);
    truncateSync(large, SIZE);
    const again = openSync(large, 'r+');
    for (let at = 0; at < SIZE; at += DELTA_BLOCK_BYTES) {
      const block = contents.subarray(at, at + DELTA_BLOCK_BYTES);
      if (block.some((byte) => byte !== 0)) writeSync(again, block, 0, block.length, at);
    }
    closeSync(again);
    setTimes(large);
    damage(left(to, 'journal-'), -1);
    castAll(path, [to]);
    expectArrived(path, to);
  });
});

/** The large file could not be built: it is sent again, whole, and the cast ends. */
function expectResent(cast: LocalDelta): void {
  const large = cast.entries.findIndex(({ path }) => path.toString().endsWith('large'));
  expect(cast.receivers[0]!.writer.unbuilt).toEqual([large]);
  cast.resend([large], MESSAGE_BYTES);
  expect(cast.finish()[0]).toMatchObject({ problemCount: 0 });
}

/** Changes a byte; negative places count from the end. */
function damage(path: string, place: number): void {
  const bytes = readFileSync(path);
  const at = place < 0 ? bytes.length + place : place;
  bytes[at]! ^= 0x55;
  writeFileSync(path, bytes);
}

describe('what an interrupted cast has left is not taken as it is', () => {
  function expectFetchedAgain(change: (path: string, to: string) => void): StoredReport {
    const { path, to } = interrupted();
    change(path, to);
    const { reports } = castAll(path, [to]);
    expect(reports[0]).toMatchObject({ problemCount: 0 });
    expectArrived(path, to);
    return reports[0]!;
  }

  it('where somebody has changed the partial file: the changed blocks are sent again', () => {
    const { resumedBytes } = expectFetchedAgain((_, to) => damage(left(to, 'part-'), 3 * DELTA_BLOCK_BYTES));
    expect(resumedBytes).toBeGreaterThan(8 * MESSAGE_BYTES);
  });

  it('where somebody has changed it and set its times again', () => {
    expectFetchedAgain((_, to) => {
      const part = left(to, 'part-');
      const reference = write(temporaryDirectory(), 'reference');
      // To the nanosecond, which `fs` cannot set.
      execFileSync('touch', ['-r', part, reference]);
      damage(part, 3 * DELTA_BLOCK_BYTES);
      execFileSync('touch', ['-r', reference, part]);
      expect(statSync(part, { bigint: true }).mtimeNs).toBe(statSync(reference, { bigint: true }).mtimeNs);
    });
  });

  it('where the partial file was cut off, or is another one', () => {
    expectFetchedAgain((_, to) => truncateSync(left(to, 'part-'), 100_000));
    expectFetchedAgain((_, to) => {
      const part = left(to, 'part-');
      const journal = readFileSync(left(to, 'journal-'));
      writeFileSync(part, Buffer.alloc(SIZE));
      writeFileSync(left(to, 'journal-'), journal);
    });
  });

  it('where its journal is damaged, cut off or gone', () => {
    for (const place of [0, 40, 60, -60, -1])
      expectFetchedAgain((_, to) => damage(left(to, 'journal-'), place));
    for (const bytes of [0, 10, 56, 100])
      expectFetchedAgain((_, to) => truncateSync(left(to, 'journal-'), bytes));
  });

  it('where the sender has another file by now', () => {
    const { resumedBytes } = expectFetchedAgain((path) => write(path, 'large', seededBytes(SIZE, 9)));
    expect(resumedBytes).toBeLessThan(100);
  });

  it('where the sender has other contents of the same size and time: the checksum finds it, and all is sent again', () => {
    const { path, to } = interrupted();
    const large = join(path, 'large');
    write(path, 'large', seededBytes(SIZE, 9));
    setTimes(large);
    using cast = new LocalDelta(path, [to], keeping);
    cast.sendAll(MESSAGE_BYTES);
    expectResent(cast);
    expectArrived(path, to);
  });

  it('where somebody changes the partial file after it was compared: the checksum finds it, and all is sent again', () => {
    const { path, to } = interrupted();
    using cast = new LocalDelta(path, [to], keeping);
    const [active] = temporaries(to);
    const part = readdirSync(join(to, active!)).find((name) => name.startsWith('part-'));
    damage(join(to, active!, part!), 3 * DELTA_BLOCK_BYTES);
    cast.sendAll(MESSAGE_BYTES);
    expectResent(cast);
    expectArrived(path, to);
  });

  it('where it does not belong to this user alone', () => {
    const { path, to } = interrupted();
    const [kept] = leftovers(to);
    chmodSync(join(to, kept!), 0o755);
    expect(castAll(path, [to]).reports[0]).toMatchObject({ resumedBytes: 0, problemCount: 0 });
    expect(readdirSync(to)).toEqual([kept, 'root']);
  });
});

describe('new directories', () => {
  it('appear at the end, as a whole, with their modes; what is there already is merged', () => {
    const from = temporaryDirectory();
    write(from, 'root/old/new/deep/file');
    write(from, 'root/old/beside');
    chmodSync(join(from, 'root/old/new/deep'), 0o500);
    const to = temporaryDirectory();
    mkdirSync(join(to, 'root/old'), { recursive: true });
    using cast = new LocalDelta(join(from, 'root'), [to], keeping);
    cast.sendAll();
    expect(namesIn(join(to, 'root'))).toEqual(['old', 'old/beside']);
    // Somebody makes one of them meanwhile.
    write(to, 'root/old/new/own');
    cast.finish();
    expect(namesIn(join(to, 'root'))).toEqual([
      'old',
      'old/beside',
      'old/new',
      'old/new/deep',
      'old/new/deep/file',
      'old/new/own',
    ]);
    expect(lstatSync(join(to, 'root/old/new/deep')).mode & 0o777).toBe(0o500);
  });

  it('cannot replace a file that has their name by then: that is a problem', () => {
    const path = source();
    const to = temporaryDirectory();
    using cast = new LocalDelta(path, [to], keeping);
    cast.sendAll();
    write(to, 'root', 'a file');
    const [report] = cast.finish();
    expect(report!.problems).toMatchObject([{ path: 'root', code: 'ERR_RDMC_PATH_CONFLICT' }]);
    expect(readFileSync(join(to, 'root'), 'utf8')).toBe('a file');
  });
});

describe('leftovers', () => {
  /** Of interrupted casts, one after the other; the first is the oldest. */
  function withLeftovers(count: number): { to: string; root: number; names: string[] } {
    const to = temporaryDirectory();
    const names: string[] = [];
    for (let number = 0; number < count; number += 1) {
      interrupt(write(temporaryDirectory(), `large${number}`, seededBytes(SIZE, number)), [to], 10);
      names.push(leftovers(to).find((each) => !names.includes(each))!);
    }
    for (const [number, name] of names.entries())
      utimesSync(join(to, name), 1_000_000 + number, 1_000_000 + number);
    return { to, root: openSync(to, 'r'), names };
  }
  const soon = 1_000_010_000;

  /** Of the only leftover. */
  function diskBytes(root: number): number {
    const [kept] = openKept(root);
    try {
      return kept!.diskBytes;
    } finally {
      kept!.close();
    }
  }

  it('are removed after seven days', () => {
    const { to, root, names } = withLeftovers(2);
    expect(expireKept(root, { share: 1 }, soon)).toMatchObject({ casts: 0 });
    expect(expireKept(root, { share: 1 }, 1_000_000_500 + KEPT_DAYS_MS)).toMatchObject({ casts: 1 });
    expect(leftovers(to)).toEqual([names[1]]);
    closeSync(root);
  });

  it('are removed from the oldest on where they exceed the limit, or where room is needed, or all of them', () => {
    const { to, root, names } = withLeftovers(3);
    expect(expireKept(root, { bytes: SIZE }, soon)).toMatchObject({ casts: 2 });
    expect(leftovers(to)).toEqual([names[2]]);
    expect(makeRoom(root, 1)).toMatchObject({ casts: 0 });
    expect(makeRoom(root, Number.MAX_SAFE_INTEGER)).toMatchObject({ casts: 1 });
    expect(leftovers(to)).toEqual([]);
    expect(removeKept(root)).toEqual({ casts: 0, bytes: 0 });
    closeSync(root);
  });

  it('record how much they take, so that a cast need not look at every file before it answers', () => {
    const { to, root, names } = withLeftovers(1);
    const place = join(to, names[0]!, 'bytes');
    expect(Number(readFileSync(place, 'latin1'))).toBeGreaterThan(9 * MESSAGE_BYTES);
    // Larger than anything that is there: it was not counted.
    writeFileSync(place, '1000000000\n');
    const store = new KeptStore(root, root, { mayTake: true, mayTrust: true, durable: false });
    expect(store.freeBytes).toBeGreaterThanOrEqual(1_000_000_000);
    store.close();
    expect(diskBytes(root)).toBe(1_000_000_000);
    for (const damaged of ['', '1000000000', 'x\n', undefined]) {
      if (damaged === undefined) rmSync(place);
      else writeFileSync(place, damaged);
      expect(diskBytes(root)).toBeGreaterThan(9 * MESSAGE_BYTES);
      expect(diskBytes(root)).toBeLessThan(2 * SIZE);
    }
    closeSync(root);
  });

  it('record what was taken of them, and count with signs of life when they are put away', () => {
    const { to } = interrupted();
    const root = openSync(to, 'r');
    const [kept] = openKept(root);
    let active = 0;
    kept!.keep(() => {
      active += 1;
    });
    expect(active).toBe(namesIn(join(to, leftovers(to)[0]!)).length);
    const before = kept!.diskBytes;
    const target = join(to, 'taken');
    const place = (): Buffer => Buffer.from(target);
    expect(kept!.takeFile(Buffer.from('root/a'), () => true, place, false)).toBe(true);
    const after = kept!.diskBytes;
    expect(after).toBeLessThan(before);
    kept!.close();
    expect(diskBytes(root)).toBe(after);
    closeSync(root);
  });

  it('are removed at once where none may be left', () => {
    const { to } = interrupted(ports({ limit: { bytes: 0 } }));
    expect(readdirSync(to)).toEqual([]);
  });

  it('are kept after a kill, except those of a cast that is not to be continued', () => {
    for (const [resume, casts] of [
      [true, 1],
      [false, 0],
    ] as const) {
      const to = temporaryDirectory();
      using cast = new LocalDelta(source(), [to], keeping, { resume });
      for (const group of cast.plan())
        cast.send(allMessages(cast.reader(group), MESSAGE_BYTES).slice(0, 10), group.members);
      const killed = asAfterKill(to);
      const root = openSync(killed, 'r');
      removeLeftovers(root, true);
      closeSync(root);
      expect([temporaries(killed).length, leftovers(killed).length]).toEqual([0, casts]);
    }
  });

  it.each([-1, 1.5, '101%', '-1%', 'half', '5', '%', null])('have no limit of %j', (limit) => {
    expect(() => checkResumeLimit('receiveFiles', limit)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }),
    );
  });

  it('have a limit of bytes, or a share of the disk', () => {
    expect(checkResumeLimit('receiveFiles', 0)).toEqual({ bytes: 0 });
    expect(checkResumeLimit('receiveFiles', '12.5%')).toEqual({ share: 0.125 });
  });
});
