import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ListedPath } from '../src/reader/listed-paths.js';
import { resolveRoots } from '../src/reader/roots.js';
import { Survey } from '../src/reader/survey.js';
import { decodeMessage } from '../src/stream/message-decoder.js';
import { allMessages, MESSAGE_BYTES, readerOf, store } from './support/local-cast.js';
import { describeTree, expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

/** Of the bytes of a message, which are damaged: with RDMC_TEST_LONG=1 each; otherwise some of each field. */
const DAMAGE_STEP = process.env.RDMC_TEST_LONG === '1' ? 1 : 3;

/** Casts from one directory to another within this process. */
function cast(from: string, messageBytes?: number) {
  const to = temporaryDirectory();
  const reader = readerOf([join(from, 'root')], undefined);
  const messages = allMessages(reader, messageBytes);
  const count = messages.length;
  const report = store(messages, to);
  return { to, reader, report, count };
}

function sourceTree(): string {
  const from = temporaryDirectory();
  mkdirSync(join(from, 'root'));
  return from;
}

describe('a tree', () => {
  it('arrives with contents, modes, times, links and odd names', () => {
    const from = sourceTree();
    const root = join(from, 'root');
    write(root, 'plain.txt', 'hello', 0o640);
    write(root, 'empty', '', 0o600);
    write(root, 'read-only', 'x', 0o444);
    write(root, 'no access', 'y', 0);
    write(root, 'run', '#!/bin/sh', 0o755);
    write(root, 'deep/er/and/deeper/file', 'deep');
    write(root, 'ümläut 名前 \u{1f600}/a b\tc\nd"\'\\', 'odd');
    mkdirSync(join(root, 'empty directory'));
    writeFileSync(
      Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe, 0x20, 0x80])]),
      'no UTF-8',
    );
    symlinkSync('plain.txt', join(root, 'link'));
    symlinkSync('/nowhere/at all', join(root, 'dangling'));
    symlinkSync('..', join(root, 'deep/up'));
    linkSync(join(root, 'plain.txt'), join(root, 'deep/hard link'));
    linkSync(join(root, 'plain.txt'), join(root, 'z hard link'));
    utimesSync(join(root, 'plain.txt'), 1_600_000_000.25, 1_600_000_000.25);
    utimesSync(join(root, 'empty'), -1000, -1000);
    lutimesSync(join(root, 'link'), 1_500_000_000, 1_500_000_000);
    chmodSync(join(root, 'deep/er'), 0o555);
    utimesSync(join(root, 'deep/er'), 1_400_000_000, 1_400_000_000);
    utimesSync(root, 1_300_000_000.5, 1_300_000_000.5);
    const { to, report, reader } = cast(from);
    expect(report.problems).toEqual([]);
    expect(reader.problems.kept).toEqual([]);
    const expected = describeTree(from);
    expect(expected.size).toBeGreaterThan(15);
    expect([...expected.values()].filter((line) => line.includes(' = ')).length).toBe(2);
    expectSameTree(to, from);
    expect(report).toMatchObject({ files: 8, links: 5 });
  });

  it('is sent without incomplete files of receivers that store in it, also where they are listed', () => {
    const from = sourceTree();
    const root = join(from, 'root');
    write(root, 'model/file', 'text');
    write(root, 'model/.rdmc-cast-kept-1/tree/new/file', 'left by an interrupted cast');
    write(root, '.rdmc-cast-2/0', 'half a file');
    write(root, '.rdmc-casts', 'another name');
    const { to, report, reader } = cast(from);
    expect([...reader.problems.kept, ...report.problems]).toEqual([]);
    expect(namesIn(to)).toEqual(['root', 'root/.rdmc-casts', 'root/model', 'root/model/file']);
    const listed = ['model/file', '.rdmc-cast-2/0'].map((path) => Buffer.from(path));
    const survey = new Survey(resolveRoots([Buffer.from(root)]), { listed: ListedPath.tree(listed) });
    expect(survey.totals).toMatchObject({ files: 1, problemCount: 0 });
  });

  it('of any shape arrives', () => {
    const shape = fc.array(
      fc.record({
        path: fc.array(fc.constantFrom('a', 'b', 'c', 'ä'), { minLength: 1, maxLength: 4 }),
        size: fc.integer({ min: 0, max: 200_000 }),
        seed: fc.nat(),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(shape, fc.constantFrom(4096 + 512, 10_000, MESSAGE_BYTES), (files, messageBytes) => {
        const from = sourceTree();
        for (const { path, size, seed } of files) {
          const directories = path.slice(0, -1).map((name) => `${name}.d`);
          write(join(from, 'root'), [...directories, path.at(-1)].join('/'), seededBytes(size, seed));
        }
        const { to, report } = cast(from, messageBytes);
        expect(report.problems).toEqual([]);
        expectSameTree(to, from);
      }),
      { seed: 5, numRuns: 25 },
    );
  });

  it('of many small files takes few messages', () => {
    const from = sourceTree();
    for (let number = 0; number < 500; number += 1)
      write(join(from, 'root'), `${number % 20}/${number}`, `${number}`);
    const { to, report, count } = cast(from, 1 << 20);
    expect(report).toMatchObject({ files: 500, directories: 21, problemCount: 0 });
    expect(count).toBe(1);
    expectSameTree(to, from);
  });

  it('with a file larger than a message arrives, and no message exceeds its size', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'large', seededBytes(1_000_003, 1));
    const { to, count } = cast(from);
    expect(count).toBeGreaterThan(15);
    expectSameTree(to, from);
  });

  it('with holes arrives with holes', () => {
    const from = sourceTree();
    const path = write(join(from, 'root'), 'sparse', '');
    const file = openSync(path, 'w');
    for (const at of [3_000_000, 40_000_000, 40_200_000])
      writeSync(file, seededBytes(50_000, at), 0, 50_000, at);
    ftruncateSync(file, 100_000_000);
    closeSync(file);
    const { to, report, count } = cast(from);
    expect(report.bytes).toBe(100_000_000);
    expect(count).toBeLessThan(6);
    expectSameTree(to, from);
    expect(statSync(join(to, 'root/sparse')).blocks).toBeLessThanOrEqual(statSync(path).blocks + 3 * 32);
  });

  it('is merged into what is there: files and links are replaced, others stay', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'same/file', 'new');
    symlinkSync('file', join(from, 'root/same/link'));
    const { to } = cast(from);
    write(to, 'root/same/file', 'old and longer');
    write(to, 'root/same/other', 'stays');
    const messages = allMessages(readerOf([join(from, 'root')]));
    expect(store(messages, to).problems).toEqual([]);
    expect(namesIn(to)).toEqual(['root', 'root/same', 'root/same/file', 'root/same/link', 'root/same/other']);
    expect(describeTree(to).get('root/same/file')).toBe(describeTree(from).get('root/same/file'));
  });

  it('given by a path with a slash, as ".", or as bytes, is called by its last component', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'file');
    for (const path of [`${from}/root/`, `${from}/root/.`, Buffer.from(`${from}/x/../root`)]) {
      const to = temporaryDirectory();
      store(allMessages(readerOf([path])), to);
      expect(namesIn(to)).toEqual(['root', 'root/file']);
    }
  });

  it('names what cannot be sent, and sends the rest', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'file');
    execFileSync('/usr/bin/mkfifo', [join(from, 'root/pipe')]);
    const { to, reader } = cast(from);
    expect(namesIn(to)).toEqual(['root', 'root/file']);
    expect(reader.problems.kept).toEqual([]);
    const survey = new Survey(resolveRoots([Buffer.from(join(from, 'root'))]));
    expect(survey.totals.problems).toMatchObject([{ path: 'root/pipe', code: 'ERR_RDMC_UNSUPPORTED_TYPE' }]);
  });

  it('leaves nothing temporary', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'file');
    const { to } = cast(from);
    expect(readdirSync(to)).toEqual(['root']);
  });
});

describe('damage on the way', () => {
  it('to any byte of any message is an error or a problem, and a damaged file does not get its name', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'a', seededBytes(150, 1));
    write(join(from, 'root'), 'b', seededBytes(40, 2));
    symlinkSync('a', join(from, 'root/link'));
    const whole = allMessages(readerOf([join(from, 'root')]));
    const good = describeTree(from);
    const message = whole[0]!;
    expect(whole).toHaveLength(1);
    for (let at = 0; at < message.length; at += DAMAGE_STEP) {
      const to = temporaryDirectory();
      const damaged = Buffer.from(message);
      damaged[at]! ^= 0x41;
      let problems: number | string;
      try {
        problems = store([damaged], to).problemCount;
      } catch (error) {
        problems = (error as { code: string }).code;
      }
      expect(problems, `byte ${at}`).not.toBe(0);
      const files = [...describeTree(to)].filter(([, line]) => line.startsWith('file'));
      for (const [name, line] of files) expect(line).toBe(good.get(name));
    }
  });

  it('that cuts a stream off, swaps or repeats its messages is an error', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'large', seededBytes(200_000, 1));
    const messages = (): Buffer[] => allMessages(readerOf([join(from, 'root')]));
    const [a, b] = messages();
    const wrong = [messages().slice(0, -1), [b!, a!], [a!, a!], [a!, messages()[2]!], []];
    for (const each of wrong) {
      const to = temporaryDirectory();
      expect(() => store(each, to)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' }));
      expect(namesIn(to)).not.toContain('root/large');
    }
  });

  it('is found by the hash where the data of a file differs', () => {
    const from = sourceTree();
    write(join(from, 'root'), 'file', seededBytes(5_000, 1));
    const [message] = allMessages(readerOf([join(from, 'root')]));
    const data = [...decodeMessage(message!, 0)].find((each) => each.type === 'data')!.data;
    data[4_000]! ^= 1;
    const to = temporaryDirectory();
    expect(store([message!], to).problems).toMatchObject([
      { path: 'root/file', code: 'ERR_RDMC_HASH_MISMATCH' },
    ]);
    expect(namesIn(to)).toEqual(['root']);
  });
});
