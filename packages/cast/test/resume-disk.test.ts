import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { temporaryDirectory, thrown } from '@rdmc/testing';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DELTA_FILE_BYTES } from '../src/constants.js';
import { withRoom } from '../src/resume/kept-data.js';
import { publish } from '../src/resume/publish.js';
import { emptyDirectory } from '../src/resume/remove-tree.js';
import { DurableWriter } from '../src/writer/durable-writer.js';
import { type SyncPort, systemSync } from '../src/writer/sync-port.js';
import { TemporaryDirectory } from '../src/writer/temporary-directory.js';
import { allMessages, CHECKSUM } from './support/local-cast.js';
import { LocalDelta } from './support/local-delta.js';
import { asNobody, own } from './support/nobody.js';
import { leftovers, temporaries } from './support/receivers.js';
import { message, offered } from './support/stored-pieces.js';
import { expectSameTree, namesIn, seededBytes, write } from './support/tree.js';
import { directory, file, whole } from './support/writer-records.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const { chmodSync, fchmodSync, renameSync } = fs;
  const changing = {
    chmodSync: vi.fn(chmodSync),
    fchmodSync: vi.fn(fchmodSync),
    renameSync: vi.fn(renameSync),
  };
  return { ...fs, ...changing, fsyncSync: vi.fn(fs.fsyncSync) };
});

const resume = { limit: { share: 1 }, authenticated: true, neededBytes: 0 };
const MESSAGE_BYTES = 128 * 1024;

function opened(directory: string): number {
  const descriptor = openSync(directory, 'r');
  onTestFinished(() => closeSync(descriptor));
  return descriptor;
}

/** A tree of a small file and a large one, and what an interrupted cast has left of it. */
function interrupted() {
  const from = temporaryDirectory();
  write(from, 'root/a', 'small');
  write(from, 'root/large', seededBytes(2 * DELTA_FILE_BYTES, 1));
  const [path, to] = [join(from, 'root'), temporaryDirectory()];
  using cast = new LocalDelta(path, [to], { resume });
  const [group] = cast.plan();
  cast.send(allMessages(cast.reader(group!), MESSAGE_BYTES).slice(0, 5), group!.members);
  return { path, to };
}

describe('what was written without syncs', () => {
  it('says so from its beginning: the cast may be killed', () => {
    const from = temporaryDirectory();
    const path = write(from, 'file');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    const bootIn = (ports: object): string => {
      const to = temporaryDirectory();
      using cast = new LocalDelta(path, [to], ports);
      expect(cast.entries).toHaveLength(1);
      return readFileSync(join(to, temporaries(to)[0]!, 'boot'), 'latin1');
    };
    expect(bootIn({ resume })).toBe(boot);
    // Nothing counts of a cast that no later cast may continue.
    expect(bootIn({})).toBe('');
  });

  it('is synced by a cast that syncs, before it counts', () => {
    const { path, to } = interrupted();
    vi.mocked(fsyncSync).mockClear();
    using cast = new LocalDelta(path, [to], { resume, durable: true });
    // The small file, which is complete; the large one is synced when its next bytes arrive.
    expect(fsyncSync).toHaveBeenCalledTimes(1);
    cast.sendAll(MESSAGE_BYTES);
    expect(cast.finish()).toMatchObject([{ unchangedFiles: 1, files: 1 }]);
  });
});

describe('a full disk', () => {
  it('loses its oldest leftovers, one after the other, until there is room', () => {
    const { path, to } = interrupted();
    for (const seconds of [3, 2]) {
      mkdirSync(join(to, `.rdmc-cast-kept-${seconds}`), { mode: 0o700 });
      utimesSync(join(to, `.rdmc-cast-kept-${seconds}`), seconds, seconds);
    }
    let left = 2;
    const action = (): number => {
      if (left > 0) throw Object.assign(new Error(`${left--}`), { code: 'ENOSPC' });
      return leftovers(to).length;
    };
    const root = opened(to);
    expect(withRoom(root, action)).toBe(1);
    using cast = new LocalDelta(path, [to], { resume });
    expect(cast.receivers[0]!.writer.resumedBytes).toBeGreaterThan(0);
  });

  it('that leftovers do not fill is an error, and so is another one', () => {
    const { to } = interrupted();
    const root = opened(to);
    for (const [code, count] of [
      ['EACCES', 1],
      ['ENOSPC', 0],
    ] as const) {
      const error = Object.assign(new Error(code), { code });
      const failing = (): never => {
        throw error;
      };
      expect(thrown(() => withRoom(root, failing))).toBe(error);
      expect(leftovers(to)).toHaveLength(count);
    }
  });
});

describe('the removal of leftovers', () => {
  it('goes on where an earlier one was interrupted', () => {
    const directory = temporaryDirectory();
    for (const name of ['moved-0', 'moved-1', 'tree']) write(directory, `${name}/a/b/c/file`);
    chmodSync(join(directory, 'moved-0/a'), 0o500);
    emptyDirectory(opened(directory));
    expect(readdirSync(directory)).toEqual([]);
    // Names of one removal are not those of another one, which stopped anywhere.
    for (const name of ['one', 'other']) write(directory, `${name}/a/b/c/file`);
    emptyDirectory(opened(directory));
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a new directory that somebody else has made meanwhile', () => {
  it('gets all entries that can have their names, also where another one cannot', () => {
    const [staged, to] = [temporaryDirectory(), temporaryDirectory()];
    for (const name of ['new/a', 'new/b', 'new/deep/c', 'new/deep/d', 'new/z']) write(staged, name, name);
    // A directory where a file would be, and a file where a directory would be.
    for (const name of ['new/b/own', 'new/deep/own']) write(to, name, 'own');
    write(to, 'new/deep/c/own', 'own');
    const place = (directory: string) => ({ directory: opened(directory), name: Buffer.from('new') });
    const merged: string[] = [];
    const onMerged = (path: Buffer): void => void merged.push(path.toString());
    const publishing = { onMerged, onLateMode: closeSync };
    const error = thrown(() => publish(place(staged), place(to), Buffer.from('new'), publishing));
    expect(error).toMatchObject({ code: 'EISDIR' });
    expect(namesIn(join(to, 'new'))).toEqual([
      ...['a', 'b', 'b/own', 'deep', 'deep/c', 'deep/c/own', 'deep/d', 'deep/own', 'z'],
    ]);
    expect(merged).toEqual(['new', 'new/deep']);
  });
});

describe('a new directory without write permission', () => {
  const place = (directory: string) => ({ directory: opened(directory), name: Buffer.from('new') });

  /** From now on, only so many more of these calls have an effect. Returns what ends that. */
  function killedAfter(calls: number): () => void {
    let left = calls;
    const restores = [chmodSync, fchmodSync, renameSync].map((each) => {
      const call = vi.mocked(each as (...given: unknown[]) => void);
      const real = call.getMockImplementation()!;
      call.mockImplementation((...given) => {
        if (left === 0) throw new Error('killed');
        left -= 1;
        real(...given);
      });
      return () => void call.mockImplementation(real);
    });
    return () => {
      for (const restore of restores) restore();
    };
  }

  /** Two directories of nobody; the first one has the new directory, with a file. */
  function stagedAndTo(): readonly [string, string] {
    const [staged, to] = [own(temporaryDirectory()), own(temporaryDirectory())];
    asNobody(() => {
      write(staged, 'new/file');
      chmodSync(join(staged, 'new'), 0o555);
    });
    return [staged, to];
  }

  it('has its own name or none when the receiver is killed, whenever that is, and is complete then', () => {
    let isKilled = true;
    for (let calls = 0; isKilled; calls += 1) {
      const [staged, to] = stagedAndTo();
      const [from, target] = [place(staged), place(to)];
      const restore = killedAfter(calls);
      isKilled = asNobody(() => {
        try {
          publish(from, target, Buffer.from('new'), { onMerged: () => {}, onLateMode: closeSync });
          return false;
        } catch {
          return true;
        } finally {
          restore();
        }
      });
      expect(namesIn(to), `after ${calls} calls`).toEqual(
        readdirSync(staged).length > 0 ? [] : ['new', 'new/file'],
      );
    }
  });

  async function storeCast(to: string, sync: SyncPort): Promise<void> {
    const writer = new DurableWriter(to, randomUUID(), CHECKSUM, sync);
    await writer.store(0, whole(directory(0, 'new', 0o555), ...file(1, 'new/file')));
    await writer.finish(1);
    await writer.close();
  }

  async function storeFetch(to: string, sync: SyncPort): Promise<void> {
    const from = temporaryDirectory();
    write(from, 'new/file');
    chmodSync(join(from, 'new'), 0o555);
    const { origin, store } = await offered(from, to, { sync });
    await store.store(message(origin, 0));
    await store.finish();
  }

  it.each([
    ['cast', storeCast],
    ['fetch', storeFetch],
  ])('is synced when it has its mode, in a %s', async (_, storeAll) => {
    const rename = vi.mocked(renameSync);
    const real = rename.getMockImplementation()!;
    onTestFinished(() => void rename.mockImplementation(real));
    rename.mockImplementation((from, target) => {
      const { mode } = lstatSync(from);
      if (from.toString('latin1').endsWith('/new') && (mode & 0o200) === 0)
        throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
      real(from, target);
    });
    const to = temporaryDirectory();
    const synced: string[] = [];
    const sync = async (descriptor: number): Promise<void> => {
      const path = relative(to, readlinkSync(`/proc/self/fd/${descriptor}`));
      synced.push(`${path} ${(fstatSync(descriptor).mode & 0o777).toString(8)}`);
    };
    await storeAll(to, { ...systemSync, directory: sync });
    expect(synced.slice(1)).toEqual(['new 555', ` ${(statSync(to).mode & 0o777).toString(8)}`]);
    expect(synced[0]).toMatch(/^\.rdmc-cast-.*\/tree\/new 555$/);
    expect(namesIn(to)).toEqual(['new', 'new/file']);
  });

  it.each([
    ['gets its name and its mode', (_: string) => {}, ['file'], 0o555],
    ['replaces an empty one', (new_: string) => mkdirSync(new_), ['file'], 0o555],
    ['is merged', (new_: string) => void write(new_, 'own'), ['file', 'own'], undefined],
    [
      'stays hidden where a file has its name',
      (new_: string) => writeFileSync(new_, ''),
      undefined,
      undefined,
    ],
  ])('%s', (_, prepare, names, mode) => {
    const modes: number[] = [];
    const onLateMode = (descriptor: number): void => {
      modes.push(fstatSync(descriptor).mode & 0o777);
      closeSync(descriptor);
    };
    const [staged, to] = stagedAndTo();
    asNobody(() => prepare(join(to, 'new')));
    const [from, target] = [place(staged), place(to)];
    const publishing = { onMerged: () => {}, onLateMode };
    const act = (): void => asNobody(() => publish(from, target, Buffer.from('new'), publishing));
    if (names) act();
    else expect(thrown(act)).toMatchObject({ code: 'ENOTDIR' });
    expect(readdirSync(to)).toEqual(['new']);
    expect(readdirSync(staged)).toEqual(names ? [] : ['new']);
    if (names) expect(readdirSync(join(to, 'new'))).toEqual(names);
    if (mode !== undefined) expect(statSync(join(to, 'new')).mode & 0o777).toBe(mode);
    // The caller syncs it: nothing did that after the mode was set.
    expect(modes).toEqual(mode === undefined ? [] : [mode]);
  });
});

it('a temporary directory that is synced, or as good as that, has no mark', () => {
  const to = temporaryDirectory();
  const temporary = new TemporaryDirectory(opened(to), 'id');
  expect(readdirSync(join(to, '.rdmc-cast-id'))).toEqual(['owner']);
  temporary.remove();
  expect(readdirSync(to)).toEqual([]);
  expectSameTree(to, temporaryDirectory());
});
