import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { castFile } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { EARLY_SYNC_BYTES, MAX_UNSYNCED_FILES } from '../src/constants.js';
import type { StreamRecord } from '../src/stream/records.js';
import { DurableWriter } from '../src/writer/durable-writer.js';
import { isInMemory } from '../src/writer/file-system-kind.js';
import type { StoredReport } from '../src/writer/stored-report.js';
import { type SyncPort, systemSync } from '../src/writer/sync-port.js';
import { CHECKSUM } from './support/local-cast.js';
import { ReceiverProcess } from './support/receivers.js';
import { namesIn, write } from './support/tree.js';
import { directory, file, hardLink, link, whole } from './support/writer-records.js';

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}

/** Records syncs: the path below the directory, temporary names as `temporary/INDEX`, and the entries at that time. */
class TracingPort implements SyncPort {
  readonly trace: string[] = [];
  readonly seen: { readonly synced: string; readonly names: string[] }[] = [];

  constructor(
    private readonly inside: string,
    /** May reject in place of the system. */
    private readonly before: (kind: keyof SyncPort, name: string) => Promise<void> | void = () => {},
  ) {}

  file = (descriptor: number): Promise<void> => this.#sync('file', descriptor);
  data = (descriptor: number): Promise<void> => this.#sync('data', descriptor);
  directory = (descriptor: number): Promise<void> => this.#sync('directory', descriptor);

  async #sync(kind: keyof SyncPort, descriptor: number): Promise<void> {
    const path = readlinkSync(`/proc/self/fd/${descriptor}`);
    const name = relative(this.inside, path).replace(/^\.rdmc-cast-[^/]*/, 'temporary');
    this.seen.push({
      synced: `${kind} ${name}`,
      names: readdirSync(this.inside, { encoding: 'utf8', recursive: true }),
    });
    await this.before(kind, name);
    await systemSync[kind](descriptor);
    this.trace.push(`${kind} ${name}`);
  }
}

function writerFor(inside: string, port: SyncPort): DurableWriter {
  return new DurableWriter(inside, randomUUID(), CHECKSUM, port);
}

async function storeAll(inside: string, port: SyncPort, ...records: StreamRecord[]): Promise<StoredReport> {
  const writer = writerFor(inside, port);
  try {
    await writer.store(0, whole(...records));
    return await writer.finish(1);
  } finally {
    await writer.close();
  }
}

const tree = [
  directory(0, 'd'),
  directory(1, 'd/e', 0o555),
  ...file(2, 'd/e/one', 'first'),
  ...file(3, 'd/two', 'second'),
  ...file(4, 'three'),
  hardLink(5, 3, 'd/linked', 'd/two'),
  link(6, 'd/soft', 'two'),
  directory(7, 'empty'),
];

describe('what is complete is on disk', () => {
  it('files before they have their names, directories when they have all their names, all of it before the end', async () => {
    const inside = temporaryDirectory();
    const port = new TracingPort(inside);
    const report = await storeAll(inside, port, ...tree);
    expect(report).toMatchObject({ files: 3, directories: 3, links: 2, problemCount: 0 });
    expect([...port.trace].sort()).toEqual([
      'directory ',
      'directory temporary/tree/d',
      'directory temporary/tree/d/e',
      'directory temporary/tree/empty',
      'file temporary/2',
      'file temporary/3',
      'file temporary/4',
    ]);
    const finalNames = {
      'file temporary/2': 'd/e/one',
      'file temporary/3': 'd/two',
      'file temporary/4': 'three',
    };
    for (const [synced, name] of Object.entries(finalNames)) {
      expect(port.seen.find((each) => each.synced === synced)!.names).not.toContain(name);
    }
    const everything = namesIn(inside);
    const isNew = ({ synced }: { readonly synced: string }): boolean => synced.includes('/tree/');
    const directories = port.seen.filter(({ synced }) => synced.startsWith('directory'));
    // A new directory has no name before all in it is on disk; all names are there before the rest is synced.
    for (const { synced, names } of directories.filter(isNew))
      expect(
        names.filter((name) => !name.startsWith('.')),
        synced,
      ).toEqual(['three']);
    for (const { synced, names } of directories.filter((each) => !isNew(each)))
      expect(names, synced).toEqual(expect.arrayContaining(everything));
    expect(lstatSync(join(inside, 'd/e')).mode & 0o777).toBe(0o555);
  });

  it('a directory that only got an entry, and is not in the cast itself, is synced', async () => {
    const inside = temporaryDirectory();
    await storeAll(inside, systemSync, directory(0, 'd'));
    const port = new TracingPort(inside);
    await storeAll(inside, port, ...file(0, 'd/new'));
    expect(port.trace).toEqual(['file temporary/0', 'directory d']);
  });

  it('in a file system without a disk, files are not synced, and directories are: another one may be mounted there', async () => {
    const inside = temporaryDirectory();
    const port = new TracingPort(inside);
    const writer = new DurableWriter(inside, randomUUID(), CHECKSUM, port, { inMemory: true });
    await writer.store(0, whole(...tree));
    // Files have their names already, in a directory that is new.
    expect(namesIn(inside)).toContain('three');
    expect(await writer.finish(1)).toMatchObject({ files: 3, directories: 3, links: 2, problemCount: 0 });
    await writer.close();
    expect([...port.trace].sort()).toEqual([
      'directory ',
      'directory temporary/tree/d',
      'directory temporary/tree/d/e',
      'directory temporary/tree/empty',
    ]);
  });

  it('file systems without a disk are recognised', () => {
    const shared = readFileSync('/proc/mounts', 'utf8').includes(' /dev/shm tmpfs ');
    expect(isInMemory('/dev/shm')).toBe(shared);
    expect(isInMemory('/proc')).toBe(false);
    expect(isInMemory('/there/is/no/such/directory')).toBe(false);
  });

  it('a large file is synced early, before its end', async () => {
    const inside = temporaryDirectory();
    const port = new TracingPort(inside);
    await storeAll(inside, port, ...file(0, 'large', Buffer.alloc(EARLY_SYNC_BYTES, 'x')));
    expect(port.trace).toEqual(['data temporary/0', 'file temporary/0', 'directory ']);
  });
});

describe('a sync that fails', () => {
  it.each([
    ['EIO', 'ERR_RDMC_WRITE_FAILED'],
    ['ENOSPC', 'ERR_RDMC_NO_SPACE'],
    ['EDQUOT', 'ERR_RDMC_NO_SPACE'],
  ])(
    'of a file with %s: the file is missing, with a code, and so is what is linked to it',
    async (errno, code) => {
      const inside = temporaryDirectory();
      const port = new TracingPort(inside, (kind, name) => {
        if (kind === 'file' && name.endsWith('/3')) throw systemError(errno);
      });
      const report = await storeAll(inside, port, ...tree);
      expect(report.problems.map((problem) => `${problem.path} ${problem.code}`)).toEqual([
        `d/two ${code}`,
        'd/linked ERR_RDMC_LINK_TARGET_MISSING',
      ]);
      expect(report.problems[0]!.message).toContain(errno);
      expect(report.files).toBe(2);
      expect(namesIn(inside)).toEqual(['d', 'd/e', 'd/e/one', 'd/soft', 'empty', 'three']);
    },
  );

  it('early, in a large file: the file is missing, although its last sync would succeed', async () => {
    const inside = temporaryDirectory();
    const port = new TracingPort(inside, (kind) => {
      if (kind === 'data') throw systemError('EIO');
    });
    const large = file(0, 'large', Buffer.alloc(EARLY_SYNC_BYTES, 'x'));
    const report = await storeAll(inside, port, ...large, ...file(1, 'small'));
    expect(report.problems).toMatchObject([{ path: 'large', code: 'ERR_RDMC_WRITE_FAILED' }]);
    expect(readdirSync(inside)).toEqual(['small']);
  });

  it.each([
    ['EIO', 'ERR_RDMC_WRITE_FAILED'],
    ['ENOSPC', 'ERR_RDMC_NO_SPACE'],
  ])('of a directory with %s: the cast fails', async (errno, code) => {
    const inside = temporaryDirectory();
    const port = new TracingPort(inside, (kind, name) => {
      if (kind === 'directory' && name === 'temporary/tree/d') throw systemError(errno);
    });
    await expect(storeAll(inside, port, ...tree)).rejects.toMatchObject({ code });
    expect(readdirSync(inside)).toEqual(['three']);
  });
});

/** Delays every sync of a file until the test resolves it. */
function heldBack() {
  const held: (() => void)[] = [];
  const file = (): Promise<void> => new Promise((resolve) => held.push(resolve));
  const port: SyncPort = { file, data: async () => {}, directory: async () => {} };
  return { port, held };
}

describe('files that wait for the disk', () => {
  it('are bounded in number: storing waits for them', async () => {
    const inside = temporaryDirectory();
    const { port, held } = heldBack();
    const count = 2 * MAX_UNSYNCED_FILES;
    const records = Array.from({ length: count }, (_, index) => file(index, `f${index}`));
    const writer = writerFor(inside, port);
    const stored = writer.store(0, whole(...records.flat()));
    expect(held).toHaveLength(MAX_UNSYNCED_FILES);
    for (let done = 0; done < count; done += 1) {
      held[done]!();
      while (writer.stored.files <= done) await new Promise(setImmediate);
      expect(held.length - done - 1).toBeLessThanOrEqual(MAX_UNSYNCED_FILES);
    }
    await stored;
    expect(await writer.finish(1)).toMatchObject({ files: count, problemCount: 0 });
  });

  it('get their names in order, also where a later one is on disk first', async () => {
    const inside = temporaryDirectory();
    const { port, held } = heldBack();
    const writer = writerFor(inside, port);
    await writer.store(0, whole(...file(0, 'same', 'old'), ...file(1, 'same', 'newer'), ...file(2, 'last')));
    held[2]!();
    held[1]!();
    await new Promise(setImmediate);
    expect(writer.stored.files).toBe(0);
    held[0]!();
    await writer.finish(1);
    expect(lstatSync(join(inside, 'same')).size).toBe('newer'.length);
  });

  it('get no name when the cast is given up, and are removed', async () => {
    const inside = temporaryDirectory();
    const { port, held } = heldBack();
    const writer = writerFor(inside, port);
    await writer.store(0, whole(directory(0, 'd'), ...file(1, 'd/a'), ...file(2, 'd/b')));
    let isClosed = false;
    const closed = writer.close().then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    // Descriptors are in use.
    expect(isClosed).toBe(false);
    for (const letGo of held) letGo();
    await closed;
    expect(namesIn(inside)).toEqual([]);
  });
});

/** Runs a receiver whose system calls are logged. Returns the calls up to its report of a complete cast. */
async function traced(options: { readonly fsync?: boolean }, failing = '') {
  const from = temporaryDirectory();
  write(from, 'root/a');
  write(from, 'root/b');
  const log = write(temporaryDirectory(), 'log', '');
  const hook = fileURLToPath(new URL('./fixtures/trace-sync.mjs', import.meta.url));
  const receiver = await ReceiverProcess.start({ ...options, once: true }, undefined, {
    NODE_OPTIONS: `--import ${hook}`,
    RDMC_TEST_SYNC_LOG: log,
    RDMC_TEST_SYNC_FAILS: failing,
  });
  const summary = await castFile(join(from, 'root'), { to: [receiver.address] }).finished;
  await receiver.event('complete');
  const temporaryNames = new RegExp(`${receiver.directory}/\\.rdmc-cast-[^/]*/`);
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  const trace = lines.map((line) =>
    line.replace(temporaryNames, 'temporary/').replace(receiver.directory, 'to'),
  );
  return { receiver, summary, trace };
}

describe('a receiver', () => {
  it('has synced everything when it says complete, each file before its name', async () => {
    const { trace } = await traced({});
    expect([...trace].sort()).toEqual([
      'fsync temporary/1',
      'fsync temporary/2',
      'fsync temporary/tree/root',
      'fsync to',
      'rename temporary/tree/root/a',
      'rename temporary/tree/root/b',
      'rename to/root',
    ]);
    const isAfter = (one: string, other: string): void =>
      expect(trace.indexOf(one), `${one} after ${other}`).toBeGreaterThan(trace.indexOf(other));
    isAfter('rename temporary/tree/root/a', 'fsync temporary/1');
    isAfter('rename temporary/tree/root/b', 'fsync temporary/2');
    isAfter('fsync temporary/tree/root', 'rename temporary/tree/root/b');
    isAfter('rename to/root', 'fsync temporary/tree/root');
    isAfter('fsync to', 'rename to/root');
  });

  it('syncs nothing with fsync: false', async () => {
    const { trace } = await traced({ fsync: false });
    expect(trace).toEqual(['rename temporary/tree/root/a', 'rename temporary/tree/root/b', 'rename to/root']);
  });

  it('that cannot sync a file names it, and the sender does not call the receiver complete', async () => {
    const { receiver, summary } = await traced({}, '2');
    expect(summary.receivers).toMatchObject([{ state: 'failed', code: 'ERR_RDMC_PARTIAL', files: 1 }]);
    expect(summary.problems).toMatchObject([{ path: 'root/b', code: 'ERR_RDMC_WRITE_FAILED' }]);
    expect(namesIn(receiver.directory)).toEqual(['root', 'root/a']);
  });
});
