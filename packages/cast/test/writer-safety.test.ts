import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '@rdmc/common';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { ContentDigest } from '../src/content-digest.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import type { StreamRecord } from '../src/stream/records.js';
import { removeLeftovers } from '../src/writer/leftovers.js';
import { describeOwner } from '../src/writer/owner.js';
import { StreamWriter } from '../src/writer/stream-writer.js';
import { CHECKSUM, store } from './support/local-cast.js';
import { policy } from './support/policy.js';
import { encode } from './support/records.js';
import { describeTree, namesIn, write } from './support/tree.js';
import { directory, file, hardLink, link, time, whole } from './support/writer-records.js';

/** Two directories: one to receive in, and one outside that must never change. */
function places(): { inside: string; outside: string; unchanged: () => void } {
  const inside = temporaryDirectory();
  const outside = temporaryDirectory();
  write(outside, 'precious', 'do not touch');
  mkdirSync(join(outside, 'sub'));
  const before = describeTree(outside);
  return { inside, outside, unchanged: () => expect(describeTree(outside)).toEqual(before) };
}

/** A manifest of directories. */
function manifest(...paths: string[]) {
  const encoder = new PieceEncoder(0);
  const facts = { kind: 'directory', mode: 0o755, time, size: 0, targetIndex: 0, digest: undefined } as const;
  for (const path of paths) encoder.add({ ...facts, path: Buffer.from(path), target: Buffer.alloc(0) });
  return encoder.finish();
}

describe('nothing is removed outside', () => {
  it.each<[string, (moved: string, place: string) => void]>([
    ['another directory', (_moved, place) => mkdirSync(place)],
    ['a symbolic link to it', (moved, place) => symlinkSync(moved, place)],
  ])('where a directory is moved out after the comparison, and %s takes its place', (_what, replace) => {
    const inside = temporaryDirectory();
    const moved = join(temporaryDirectory(), 'moved');
    write(inside, 'root/d/file', 'keep');
    write(inside, 'root/d/sub/file', 'keep');
    const writer = new StreamWriter(inside, randomUUID(), CHECKSUM, { policy });
    const { first, count, data } = manifest('root', 'root/d');
    writer.examine(first, count, data);
    expect(writer.surplus().count).toBe(2);
    renameSync(join(inside, 'root/d'), moved);
    const before = describeTree(moved);
    replace(moved, join(inside, 'root/d'));
    expect(writer.finish(0, true)).toMatchObject({ removed: 0 });
    expect(describeTree(moved)).toEqual(before);
  });
});

describe('a cast that is given up', () => {
  it('ends within the removal of one large directory', () => {
    const inside = temporaryDirectory();
    for (let number = 0; number < 20; number += 1) write(inside, `root/old/${number}`);
    let removed = 0;
    const isGivenUp = (): boolean => removed > 3;
    const active = (): void => {
      removed = 20 - readdirSync(join(inside, 'root/old')).length;
    };
    const writer = new StreamWriter(inside, randomUUID(), CHECKSUM, { policy, isGivenUp, active });
    const { first, count, data } = manifest('root');
    writer.examine(first, count, data);
    writer.surplus();
    expect(() => writer.finish(0, true)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_ABORTED' }));
    writer.close();
    expect(removed).toBe(4);
  });
});

describe('a directory that is moved out of the receiving directory, or removed, during the cast', () => {
  it.each<[string, (place: string, moved: string) => void]>([
    ['moved', (place, moved) => renameSync(place, moved)],
    ['moved within it', (place) => renameSync(place, `${place}-moved`)],
    ['removed', (place) => rmSync(place, { recursive: true })],
    [
      'moved, with another one in its place',
      (place, moved) => {
        renameSync(place, moved);
        mkdirSync(place);
      },
    ],
  ])('%s: later files are stored where they belong', (_what, move) => {
    const inside = temporaryDirectory();
    const moved = join(temporaryDirectory(), 'moved');
    const all = [
      directory(0, 'd'),
      ...file(1, 'd/a'),
      directory(2, 'd/e'),
      ...file(3, 'd/e/b'),
      ...file(4, 'd/e/c'),
    ];
    const end: StreamRecord = {
      ...{ type: 'streamEnd', files: 3, directories: 2, symbolicLinks: 0, hardLinks: 0, bytes: 0 },
    };
    // Directories that exist; new ones are not there before the end.
    mkdirSync(join(inside, 'd/e'), { recursive: true });
    const writer = new StreamWriter(inside, randomUUID(), CHECKSUM);
    const cut = all.findIndex((record) => record.type === 'fileBegin' && record.index === 4);
    writer.store(0, Buffer.from(encode(all.slice(0, cut), 0)));
    move(join(inside, 'd'), moved);
    writer.store(1, Buffer.from(encode([...all.slice(cut), end], 1)));
    expect(writer.finish(2)).toMatchObject({ problemCount: 0 });
    expect(readFileSync(join(inside, 'd/e/c'), 'utf8')).toBe('text');
    expect(existsSync(join(moved, 'e/c'))).toBe(false);
  });
});

describe('nothing is written outside', () => {
  it('through a symbolic link that was there before, as directory or on the way', () => {
    const { inside, outside, unchanged } = places();
    symlinkSync(outside, join(inside, 'trap'));
    mkdirSync(join(inside, 'deep'));
    symlinkSync(outside, join(inside, 'deep/trap'));
    const report = store(
      [
        whole(
          directory(0, 'trap'),
          ...file(1, 'trap/precious', 'overwritten'),
          ...file(2, 'trap/sub/new'),
          ...file(3, 'deep/trap/new'),
          hardLink(4, 1, 'stolen', 'trap/precious'),
          ...file(5, 'fine'),
          hardLink(6, 5, 'trap/link', 'fine'),
          link(7, 'trap/soft', 'fine'),
        ),
      ],
      inside,
    );
    unchanged();
    expect(report.problems.map(({ path, code }) => `${path} ${code}`)).toEqual([
      'trap ERR_RDMC_UNSAFE_PATH',
      'trap/precious ERR_RDMC_UNSAFE_PATH',
      'trap/sub/new ERR_RDMC_UNSAFE_PATH',
      'deep/trap/new ERR_RDMC_UNSAFE_PATH',
      'stolen ERR_RDMC_LINK_TARGET_MISSING',
      'trap/link ERR_RDMC_UNSAFE_PATH',
      'trap/soft ERR_RDMC_UNSAFE_PATH',
    ]);
    expect(namesIn(inside)).toEqual(['deep', 'deep/trap', 'fine', 'trap']);
  });

  it('through a symbolic link of the cast itself', () => {
    const { inside, outside, unchanged } = places();
    const report = store(
      [whole(link(0, 'trap', outside), ...file(1, 'trap/precious', 'overwritten'))],
      inside,
    );
    unchanged();
    // New directories get their names after links.
    expect(report.problems).toMatchObject([{ path: 'trap', code: 'ERR_RDMC_PATH_CONFLICT' }]);
    expect(readlinkSync(join(inside, 'trap'))).toBe(outside);
    const again = store([whole(link(0, 'other', outside))], inside);
    expect(again.problems).toEqual([]);
    expect(store([whole(...file(0, 'other/precious', 'overwritten'))], inside).problems).toMatchObject([
      { code: 'ERR_RDMC_UNSAFE_PATH' },
    ]);
    unchanged();
  });

  it('by a file whose name is a symbolic link: the link is replaced', () => {
    const { inside, outside, unchanged } = places();
    symlinkSync(join(outside, 'precious'), join(inside, 'name'));
    expect(store([whole(...file(0, 'name', 'new'))], inside).problems).toEqual([]);
    unchanged();
    expect(lstatSync(join(inside, 'name')).isSymbolicLink()).toBe(false);
    expect(readFileSync(join(inside, 'name'), 'utf8')).toBe('new');
  });

  it('when a directory becomes a symbolic link in the middle of the cast', () => {
    const { inside, outside, unchanged } = places();
    mkdirSync(join(inside, 'b'));
    const writer = new StreamWriter(inside, randomUUID(), CHECKSUM);
    writer.store(0, encode([directory(0, 'a'), ...file(1, 'a/one')], 0));
    // Another process in that directory adds a file, and a symbolic link to the outside.
    writer.store(1, encode([...file(2, 'b/one')], 1));
    writeFileSync(join(inside, 'b/two'), '');
    symlinkSync(outside, join(inside, 'c'));
    writer.store(2, encode([...file(3, 'c/precious', 'overwritten')], 2));
    writer.close();
    unchanged();
    expect(writer.problems).toMatchObject([{ path: 'c/precious', code: 'ERR_RDMC_UNSAFE_PATH' }]);
  });

  it.each(['../precious', '/etc/precious', 'a/../../precious'])('by the path %s', (path) => {
    const { inside, unchanged } = places();
    expect(() => store([whole(...file(0, path))], inside)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_UNSAFE_PATH' }),
    );
    unchanged();
    expect(readdirSync(inside)).toEqual([]);
  });
});

describe('a hostile sender', () => {
  const begin = file(0, 'f')[0]!;
  it.each<[string, StreamRecord[]]>([
    ['data before its file', [{ type: 'data', index: 0, offset: 0, data: Buffer.from('x') }]],
    [
      'data beyond the size',
      [begin, { type: 'data', index: 0, offset: 0, data: Buffer.from('longer than it said') }],
    ],
    ['data with a gap', [begin, { type: 'data', index: 0, offset: 2, data: Buffer.from('x') }]],
    ['a hole beyond the size', [begin, { type: 'hole', index: 0, offset: 0, length: 2 ** 52 }]],
    ['a hole of nothing', [begin, { type: 'hole', index: 0, offset: 0, length: 0 }]],
    ['an end before its data', [begin, file(0, 'f')[2]!]],
    ['a file within a file', [begin, ...file(1, 'g')]],
    ['an index that comes again', [...file(1, 'f'), ...file(1, 'g')]],
    ['an index that goes back', [...file(1, 'f'), directory(0, 'g')]],
    ['an end of another file', [begin, { type: 'fileEnd', index: 9, status: 1, digest: Buffer.alloc(32) }]],
    ['the end within a file', [begin]],
  ])('%s: is an error, and nothing is left', (_name, records) => {
    const inside = temporaryDirectory();
    expect(() => store([whole(...records)], inside)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' }),
    );
    expect(readdirSync(inside).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('wrong totals: is an error', () => {
    const inside = temporaryDirectory();
    const end: StreamRecord = {
      type: 'streamEnd',
      files: 2,
      directories: 0,
      symbolicLinks: 0,
      hardLinks: 0,
      bytes: 0,
    };
    expect(() => store([Buffer.from(encode([...file(0, 'f'), end], 0))], inside)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' }),
    );
  });

  it('set-user-id bits in modes: are left out', () => {
    const inside = temporaryDirectory();
    const records = file(0, 'f');
    store(
      [
        whole(
          { ...records[0], mode: 0o6755 } as StreamRecord,
          ...records.slice(1),
          directory(1, 'd', 0o2777),
        ),
      ],
      inside,
    );
    expect(lstatSync(join(inside, 'f')).mode & 0o7777).toBe(0o755);
    expect(lstatSync(join(inside, 'd')).mode & 0o7777).toBe(0o777);
  });
});

describe('a hole of 2^52 bytes', () => {
  it('is stored, or refused by the file system, without any work per byte', () => {
    const inside = temporaryDirectory();
    const size = 2 ** 52;
    const content = new ContentDigest(CHECKSUM, 0);
    content.hole(size);
    const report = store(
      [
        whole(
          { type: 'fileBegin', index: 0, mode: 0o644, time, size, path: Buffer.from('hole') },
          { type: 'hole', index: 0, offset: 0, length: size },
          { type: 'fileEnd', index: 0, status: 0, digest: content.digest() },
          ...file(1, 'after'),
        ),
      ],
      inside,
    );
    const isThere = namesIn(inside).includes('hole');
    expect(report.problems.map(({ code }) => code)).toEqual(isThere ? [] : ['ERR_RDMC_WRITE_FAILED']);
    expect(namesIn(inside)).toContain('after');
  });
});

describe('a cast that ends early', () => {
  it('leaves nothing of the directories that it made, and others as they were', () => {
    const inside = temporaryDirectory();
    mkdirSync(join(inside, 'old'), { mode: 0o711 });
    const writer = new StreamWriter(inside, randomUUID(), CHECKSUM);
    const records = [directory(0, 'new', 0o755), directory(1, 'new/sub', 0o500), directory(2, 'old', 0o777)];
    writer.store(0, encode([...records, ...file(3, 'new/sub/file')], 0));
    expect(readdirSync(inside).filter((name) => !name.startsWith('.'))).toEqual(['old']);
    writer.close();
    expect(lstatSync(join(inside, 'old')).mode & 0o777).toBe(0o711);
    expect(namesIn(inside)).toEqual(['old']);
  });
});

describe('what is there already', () => {
  it('of another kind is a named problem, and stays', () => {
    const inside = temporaryDirectory();
    write(inside, 'directory/file');
    write(inside, 'file');
    const report = store(
      [
        whole(
          ...file(0, 'directory', 'x'),
          directory(1, 'file'),
          ...file(2, 'file/in it'),
          link(3, 'directory', 'x'),
          ...file(4, 'fine'),
        ),
      ],
      inside,
    );
    expect(report.problems.map(({ path, code }) => `${path} ${code}`)).toEqual([
      'directory ERR_RDMC_PATH_CONFLICT',
      'file ERR_RDMC_PATH_CONFLICT',
      'file/in it ERR_RDMC_PATH_CONFLICT',
      'directory ERR_RDMC_PATH_CONFLICT',
    ]);
    expect(namesIn(inside)).toEqual(['directory', 'directory/file', 'file', 'fine']);
    expect(report.files).toBe(1);
  });

  it('with more open directories than are kept, works', () => {
    const inside = temporaryDirectory();
    const records: StreamRecord[] = [];
    for (let index = 0; index < 400; index += 1) records.push(...file(index, `d${index % 200}/x/y/${index}`));
    expect(store([whole(...records)], inside)).toMatchObject({ files: 400, problemCount: 0 });
    expect([...describeTree(inside).values()].filter((line) => line.startsWith('file')).length).toBe(400);
  });

  it('as a hard link to the same file stays one, and leaves nothing temporary', () => {
    const inside = temporaryDirectory();
    const message = (): Buffer => whole(...file(0, 'a'), hardLink(1, 0, 'b', 'a'));
    store([message()], inside);
    linkSync(join(inside, 'a'), join(inside, 'c'));
    expect(store([message()], inside)).toMatchObject({ links: 1, problemCount: 0 });
    expect(readdirSync(inside)).toEqual(['a', 'b', 'c']);
    expect(lstatSync(join(inside, 'a')).ino).toBe(lstatSync(join(inside, 'b')).ino);
  });
});

describe('temporary files', () => {
  it('lie in a directory of mode 700, and files get their names only when they are whole', () => {
    const inside = temporaryDirectory();
    const id = randomUUID();
    const writer = new StreamWriter(inside, id, CHECKSUM);
    const [begin, data, end] = file(0, 'f');
    writer.store(0, encode([begin!, data!], 0));
    expect(readdirSync(inside)).toEqual([`.rdmc-cast-${id}`]);
    expect(lstatSync(join(inside, `.rdmc-cast-${id}`)).mode & 0o777).toBe(0o700);
    writer.store(1, encode([end!], 1));
    expect(namesIn(inside)).toContain('f');
    writer.close();
    writer.close();
    expect(readdirSync(inside)).toEqual(['f']);
  });

  it('of processes that are gone are removed, others stay', () => {
    const inside = temporaryDirectory();
    const own = JSON.parse(describeOwner()) as ProcessIdentity;
    const owners: [string, unknown][] = [
      ['gone', { ...own, pid: 0x3fff_ffff }],
      ['reused', { ...own, startedAt: '1' }],
      ['alive', own],
      ['elsewhere', { ...own, pid: 0x3fff_ffff, host: 'another-host', boot: 'another' }],
      ['strange', 'text'],
    ];
    for (const [name, owner] of owners) {
      write(inside, `.rdmc-cast-${name}/owner`, JSON.stringify(owner));
      write(inside, `.rdmc-cast-${name}/0`, 'half a file');
    }
    write(inside, '.rdmc-cast-none/0', 'no owner');
    write(inside, '.rdmc-cast-file', 'a file');
    symlinkSync(temporaryDirectory(), join(inside, '.rdmc-cast-link'));
    const root = openSync(inside, 'r');
    expect(removeLeftovers(root).sort()).toEqual(['.rdmc-cast-gone', '.rdmc-cast-reused']);
    closeSync(root);
    expect(readdirSync(inside)).toHaveLength(6);
  });
});
