import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DELTA_BLOCK_BYTES, DELTA_FILE_BYTES, DELTA_HASH_BYTES, KIB, MIB } from '../src/constants.js';
import { BlockSet } from '../src/delta/block-set.js';
import { deltaBlocks } from '../src/delta/blocks.js';
import { encodeHashes } from '../src/delta/hash-frames.js';
import { Selected } from '../src/reader/selection.js';
import { BlockAnswers } from '../src/sender/block-answers.js';
import { allMessages } from './support/local-cast.js';
import { LocalDelta } from './support/local-delta.js';
import { temporaries } from './support/receivers.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

const refused = expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' });

/** A change of a file: bytes that are written at an offset, or its new length. */
type Edit =
  | { readonly at: number; readonly bytes: number; readonly seed: number }
  | { readonly length: number };

function edited(contents: Buffer, edits: readonly Edit[]): Buffer {
  return edits.reduce<Buffer>((before, edit) => {
    if ('length' in edit) {
      const after = Buffer.alloc(edit.length, 7);
      before.copy(after);
      return after;
    }
    const after = Buffer.from(before);
    seededBytes(edit.bytes, edit.seed).copy(after, Math.min(edit.at, after.length));
    return after;
  }, contents);
}

/** A sender with one file, and receivers with older forms of it. */
function setUp(contents: Buffer, older: readonly Buffer[]) {
  const from = temporaryDirectory();
  write(from, 'root/image', contents);
  const directories = older.map((each) => {
    const directory = temporaryDirectory();
    utimesSync(write(directory, 'root/image', each), 1_000_000_000, 1_000_000_000);
    return directory;
  });
  return {
    from,
    root: join(from, 'root'),
    directories,
    images: directories.map((each) => join(each, 'root/image')),
  };
}

const SIZE = 2 * MIB + 12_345;

describe('a large file of which one block changed', () => {
  it('is sent as that block: 1 % of the file, and the hashes', () => {
    const contents = seededBytes(16 * MIB, 1);
    const { from, root, directories } = setUp(contents, [
      edited(contents, [{ at: 5_000_000, bytes: 100, seed: 2 }]),
    ]);
    using cast = new LocalDelta(root, directories);
    cast.sendAll();
    expect(cast.sentBytes).toBeLessThan(DELTA_BLOCK_BYTES + 2 * KIB);
    expect(cast.sentBytes).toBeLessThan(contents.length / 100);
    expect(cast.finish()).toMatchObject([
      { files: 1, bytes: contents.length, keptBytes: contents.length - DELTA_BLOCK_BYTES, problemCount: 0 },
    ]);
    expectSameTree(directories[0]!, from);
  });

  it('whose time alone changed is not sent at all', () => {
    const contents = seededBytes(SIZE, 1);
    const { from, root, directories } = setUp(contents, [contents]);
    using cast = new LocalDelta(root, directories);
    cast.sendAll();
    expect(cast.sentBytes).toBeLessThan(KIB);
    cast.finish();
    expectSameTree(directories[0]!, from);
  });

  it('that is small is sent whole', () => {
    const contents = seededBytes(DELTA_FILE_BYTES - 1, 1);
    const { root, directories } = setUp(contents, [edited(contents, [{ at: 5_000, bytes: 100, seed: 2 }])]);
    using cast = new LocalDelta(root, directories);
    expect(cast.files).toEqual([]);
    cast.sendAll();
    expect(cast.sentBytes).toBeGreaterThan(contents.length);
  });
});

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ at: fc.nat({ max: SIZE }), bytes: fc.integer({ min: 1, max: 200_000 }), seed: fc.nat() }),
  fc.record({ length: fc.integer({ min: DELTA_BLOCK_BYTES, max: SIZE + MIB }) }),
);
const edits = fc.array(edit, { maxLength: 4 });

describe('receivers with any older forms of a file', () => {
  it('all have the new one at the end, and the messages may be of any size', () => {
    fc.assert(
      fc.property(
        fc.array(edits, { minLength: 1, maxLength: 3 }),
        edits,
        fc.integer({ min: 64 * KIB, max: MIB }),
        (olderEdits, newEdits, messageBytes) => {
          const base = seededBytes(SIZE, 1);
          const { from, root, directories } = setUp(
            edited(base, newEdits),
            olderEdits.map((each) => edited(base, each)),
          );
          using cast = new LocalDelta(root, directories);
          cast.sendAll(messageBytes);
          for (const report of cast.finish()) expect(report).toMatchObject({ files: 1, problemCount: 0 });
          for (const directory of directories) expectSameTree(directory, from);
        },
      ),
      { numRuns: 12 },
    );
  });

  it('a message that is filled again is the same', () => {
    const contents = seededBytes(SIZE, 1);
    const { root, directories } = setUp(contents, [
      edited(
        contents,
        [10_000, 900_000, 2_000_000].map((at) => ({ at, bytes: 150_000, seed: at })),
      ),
    ]);
    using cast = new LocalDelta(root, directories);
    const [group] = cast.plan();
    const first = allMessages(cast.reader(group!));
    const again = cast.reader(group!);
    const fill = (sequence: number): Buffer => {
      const buffer = Buffer.alloc(64 * KIB);
      return buffer.subarray(0, again.fill(sequence, buffer).bytes);
    };
    expect(first.length).toBeGreaterThan(4);
    for (const sequence of [0, 1, 2, 1, 2, 3, 0, 3])
      expect(fill(sequence).equals(first[sequence]!)).toBe(true);
    again.close();
  });
});

describe('files with holes', () => {
  function sparse(path: string, parts: readonly (readonly [number, number])[]): void {
    const file = openSync(path, 'w');
    for (const [at, seed] of parts) writeSync(file, seededBytes(100_000, seed), 0, 100_000, at);
    closeSync(file);
    truncateSync(path, 8 * MIB);
  }

  it('keep them at both ends, and holes that were filled or made are found', () => {
    const { from, root, directories, images } = setUp(Buffer.alloc(0), [Buffer.alloc(0)]);
    sparse(join(root, 'image'), [
      [0, 1],
      [3_000_000, 2],
      [7_000_000, 9],
    ]);
    sparse(images[0]!, [
      [0, 1],
      [3_000_000, 2],
      [5_000_000, 3],
    ]);
    utimesSync(images[0]!, 1, 1);
    using cast = new LocalDelta(root, directories);
    cast.sendAll();
    expect(cast.sentBytes).toBeLessThan(500_000);
    cast.finish();
    expectSameTree(directories[0]!, from);
    expect(statSync(images[0]!).blocks * 512).toBeLessThan(MIB);
  });
});

/** Sends the streams; `disturb` comes between the comparison and the sending. */
function disturbed(disturb: (image: string) => void) {
  const contents = seededBytes(SIZE, 1);
  const older = edited(contents, [{ at: 100_000, bytes: 100, seed: 2 }]);
  const { from, root, directories, images } = setUp(contents, [older, older]);
  const cast = new LocalDelta(root, directories);
  disturb(images[0]!);
  cast.sendAll();
  const unbuilt = cast.receivers.map(({ writer }) => writer.unbuilt);
  return { cast, from, directories, images, unbuilt };
}

/** Writes other bytes into a file, whose size and time stay the same. */
function writeUnseen(image: string): void {
  const { atime, mtime } = statSync(image);
  const file = openSync(image, 'r+');
  writeSync(file, seededBytes(100, 9), 0, 100, 1_500_000);
  closeSync(file);
  utimesSync(image, atime, mtime);
}

function replaceByLink(image: string): void {
  renameSync(image, `${image}-moved`);
  symlinkSync('image-moved', image);
}

describe('an older file that changes during the cast', () => {
  it.each<[string, (image: string) => void]>([
    ['with the same size and time', writeUnseen],
    ['and becomes shorter', (image) => truncateSync(image, 70_000)],
    ['and is gone', (image) => renameSync(image, `${image}-moved`)],
    ['and is replaced by a symbolic link to it', replaceByLink],
  ])('%s: is not used; the file comes whole, and the other receiver has it already', (_name, disturb) => {
    const { cast, from, directories, images, unbuilt } = disturbed(disturb);
    using _ = cast;
    const index = cast.files[0]!.index;
    expect(unbuilt).toEqual([[index], []]);
    const before = cast.sentBytes;
    const selection = new Uint8Array(cast.entries.length);
    selection[index] = Selected.UNCHANGED;
    cast.send(allMessages(cast.reader({ selection, sentBlocks: new Map() })), [0, 1]);
    expect(cast.sentBytes - before).toBeGreaterThan(SIZE);
    expect(cast.finish()).toMatchObject([
      { files: 1, keptBytes: 0, problemCount: 0 },
      { files: 1, problemCount: 0 },
    ]);
    expect(readFileSync(images[0]!).equals(readFileSync(join(from, 'root/image')))).toBe(true);
    expectSameTree(directories[1]!, from);
  });

  it('and is not sent again: is a problem, and the file stays as it is', () => {
    const { cast, directories, images } = disturbed(writeUnseen);
    using _ = cast;
    const before = readFileSync(images[0]!);
    const [first] = cast.finish();
    expect(first).toMatchObject({ files: 0, problemCount: 1 });
    expect(first!.problems).toMatchObject([{ path: 'root/image', code: 'ERR_RDMC_HASH_MISMATCH' }]);
    expect(readFileSync(images[0]!).equals(before)).toBe(true);
    expect(temporaries(directories[0]!)).toEqual([]);
  });

  it('a sender that stops in the middle leaves the older file, and nothing else', () => {
    const contents = seededBytes(SIZE, 1);
    const older = edited(contents, [{ at: 100_000, bytes: 900_000, seed: 2 }]);
    const { root, directories, images } = setUp(contents, [older]);
    {
      using cast = new LocalDelta(root, directories);
      const [group] = cast.plan();
      cast.send(allMessages(cast.reader(group!)).slice(0, 3), [0]);
    }
    expect(readFileSync(images[0]!).equals(older)).toBe(true);
    expect(temporaries(directories[0]!)).toEqual([]);
  });
});

describe('a receiver without an older file', () => {
  it('keeps the whole file of one group where another group has ranges of it for others', () => {
    const contents = seededBytes(SIZE, 1);
    const older = edited(contents, [{ at: 0, bytes: 5, seed: 2 }]);
    const { from, root, directories, images } = setUp(contents, [older, Buffer.alloc(0)]);
    unlinkSync(images[1]!);
    using cast = new LocalDelta(root, directories);
    const { index, blocks } = cast.files[0]!;
    const selection = new Uint8Array(cast.entries.length);
    selection[index] = Selected.UNCHANGED;
    const first = new BlockSet(blocks);
    first.add(0);
    cast.send(allMessages(cast.reader({ selection, sentBlocks: new Map() })), [1]);
    const ranges = new Map([[index, first.bits]]);
    cast.send(allMessages(cast.reader({ selection, sentBlocks: ranges })), [0, 1]);
    expect(cast.receivers.map(({ writer }) => writer.unbuilt)).toEqual([[], []]);
    const whole = { files: 1, problemCount: 0 };
    expect(cast.finish()).toMatchObject([whole, whole]);
    for (const directory of directories) expectSameTree(directory, from);
  });
});

describe('a receiver that claims to have blocks that it lacks', () => {
  it('does not get the file from the first stream; the other receiver does', () => {
    const contents = seededBytes(SIZE, 1);
    const older = [
      edited(contents, [{ at: 0, bytes: 500_000, seed: 2 }]),
      edited(contents, [{ at: 0, bytes: 5, seed: 2 }]),
    ];
    const { from, root, directories, images } = setUp(contents, older);
    using cast = new LocalDelta(root, directories);
    const { index, blocks } = cast.files[0]!;
    cast.receivers[0]!.blocks.lacking.set(index, new BlockSet(blocks));
    cast.sendAll();
    expect(cast.receivers.map(({ writer }) => writer.unbuilt)).toEqual([[index], []]);
    const [, honest] = cast.finish();
    expect(honest).toMatchObject({ files: 1, keptBytes: SIZE - DELTA_BLOCK_BYTES, problemCount: 0 });
    expect(readFileSync(images[0]!).equals(older[0]!)).toBe(true);
    expectSameTree(directories[1]!, from);
  });
});

describe('the sender’s file changes after its blocks were compared', () => {
  it('it is sent whole, as it is now', () => {
    const contents = seededBytes(SIZE, 1);
    const { from, root, directories } = setUp(contents, [edited(contents, [{ at: 0, bytes: 10, seed: 2 }])]);
    using cast = new LocalDelta(root, directories);
    writeFileSync(join(root, 'image'), seededBytes(SIZE, 3));
    cast.sendAll();
    expect(cast.sentBytes).toBeGreaterThan(SIZE);
    expect(cast.finish()).toMatchObject([{ files: 1, problemCount: 0 }]);
    expectSameTree(directories[0]!, from);
  });
});

describe('hashes that a sender must not send', () => {
  const hashes = (count: number): string =>
    encodeHashes(Array.from({ length: count }, () => Buffer.alloc(DELTA_HASH_BYTES)));

  it.each<[string, number, number, string]>([
    ['of an entry that is not there', 7, 0, hashes(1)],
    ['of a directory', 0, 0, hashes(1)],
    ['from another block on', 1, 1, hashes(1)],
    ['that were compared already', 1, 0, hashes(1)],
    ['of more blocks than the file has', 1, deltaBlocks(SIZE), hashes(1)],
    ['more than the file has left', 1, deltaBlocks(SIZE), hashes(40)],
    ['that are cut', 1, deltaBlocks(SIZE), 'AAAA'],
    ['none', 1, deltaBlocks(SIZE), ''],
  ])('%s: end the cast', (_name, index, first, data) => {
    const contents = seededBytes(SIZE, 1);
    const { root, directories } = setUp(contents, [edited(contents, [{ at: 0, bytes: 10, seed: 2 }])]);
    using cast = new LocalDelta(root, directories);
    const [{ writer }] = cast.receivers as [(typeof cast.receivers)[number]];
    expect(() => writer.compareBlocks(index, first, data)).toThrow(refused);
  });
});

describe('answers that a receiver must not give', () => {
  const file = { index: 3, size: SIZE, blocks: deltaBlocks(SIZE) };
  const held = (count: number): string => Buffer.alloc(Math.ceil(count / 8), 0).toString('base64');

  it.each<[string, (answers: BlockAnswers) => void]>([
    ['nobody asked', (answers) => answers.held({ type: 'held', index: 9, first: 0, data: '' })],
    ['of another file', (answers) => answers.held({ type: 'held', index: 4, first: 0, data: held(10) })],
    ['of other blocks', (answers) => answers.held({ type: 'held', index: 3, first: 1, data: held(10) })],
    ['of more blocks', (answers) => answers.held({ type: 'held', index: 3, first: 0, data: held(100) })],
    ['of fewer blocks', (answers) => answers.held({ type: 'held', index: 3, first: 0, data: held(1) })],
    [
      'with bits after the last block',
      (answers) =>
        answers.held({ type: 'held', index: 3, first: 0, data: Buffer.of(0xff, 0xff).toString('base64') }),
    ],
    [
      'that nobody asked for yet',
      (answers) => answers.unbuilt({ type: 'unbuilt', entries: [3], last: true }),
    ],
  ])('%s: are refused', (_name, answer) => {
    const answers = new BlockAnswers();
    void answers.expect(file, 0, 10);
    expect(() => answer(answers)).toThrow(refused);
  });

  it('files that it was not asked about could not be built: refused', () => {
    const answers = new BlockAnswers();
    void answers.expect(file, 0, 10);
    void answers.expectUnbuilt();
    expect(() => answers.unbuilt({ type: 'unbuilt', entries: [4], last: true })).toThrow(refused);
  });
});
