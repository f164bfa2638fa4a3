import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DELTA_BLOCK_BYTES, DELTA_HASH_BYTES, MAX_DELTA_BLOCKS, MAX_FRAME_HASHES } from '../src/constants.js';
import { BlockSet } from '../src/delta/block-set.js';
import { bytesOf, deltaBlockBytes, deltaBlocks } from '../src/delta/blocks.js';
import {
  decodeHashes,
  decodeHeld,
  encodeHashes,
  encodeHeld,
  hashesInFrame,
  MAX_HASHES_CHARACTERS,
} from '../src/delta/hash-frames.js';

const refused = expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' });

/** A set, and a list that says the same. */
const both = fc.array(fc.boolean(), { minLength: 1, maxLength: 70 }).map((list) => {
  const set = new BlockSet(list.length);
  for (const [block, isIn] of list.entries()) if (isIn) set.add(block);
  return { list, set };
});
const pair = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 70 }).map((list) => {
  const [first, second] = [new BlockSet(list.length), new BlockSet(list.length)];
  for (const [block, [inFirst, inSecond]] of list.entries()) {
    if (inFirst) first.add(block);
    if (inSecond) second.add(block);
  }
  return { list, first, second };
});
const listOf = (set: BlockSet): boolean[] => Array.from({ length: set.blocks }, (_, block) => set.has(block));

describe('a set of blocks', () => {
  it('has what was added and not deleted; its runs follow each other', () => {
    fc.assert(
      fc.property(both, fc.nat(), ({ list, set }, some) => {
        expect(listOf(set)).toEqual(list);
        expect(set.count).toBe(list.filter(Boolean).length);
        expect(set.isAll).toBe(list.every(Boolean));
        for (let block = 0; block < list.length; ) {
          const end = set.runEnd(block);
          expect(list.slice(block, end).every((isIn) => isIn === list[block])).toBe(true);
          if (end < list.length) expect(list[end]).toBe(!list[block]);
          block = end;
        }
        const block = some % list.length;
        set.delete(block);
        expect(listOf(set)).toEqual(list.with(block, false));
        expect(listOf(BlockSet.all(list.length))).toEqual(list.map(() => true));
      }),
    );
  });

  it('unites and intersects', () => {
    fc.assert(
      fc.property(pair, ({ list, first, second }) => {
        expect(listOf(first.union(second))).toEqual(list.map(([a, b]) => a || b));
        expect(listOf(first.intersection(second))).toEqual(list.map(([a, b]) => a && b));
      }),
    );
  });

  it('a file of any size has a limited number of blocks, whose bytes are those of the file', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (size) => {
        const [blockBytes, blocks] = [deltaBlockBytes(size), deltaBlocks(size)];
        expect(blockBytes).toBeGreaterThanOrEqual(DELTA_BLOCK_BYTES);
        expect(blocks).toBeLessThanOrEqual(MAX_DELTA_BLOCKS);
        expect(bytesOf(BlockSet.all(blocks), size)).toBe(size);
        const first = new BlockSet(blocks);
        first.add(0);
        expect(bytesOf(first, size)).toBe(Math.min(size, blockBytes));
        expect(hashesInFrame(blockBytes)).toBeGreaterThanOrEqual(1);
        expect(hashesInFrame(blockBytes)).toBeLessThanOrEqual(MAX_FRAME_HASHES);
      }),
    );
  });
});

describe('frames of hashes and answers', () => {
  it('are decoded as they were encoded; another number is refused', () => {
    const hash = fc.uint8Array({ minLength: DELTA_HASH_BYTES, maxLength: DELTA_HASH_BYTES });
    fc.assert(
      fc.property(fc.array(hash, { minLength: 1, maxLength: 20 }), both, (list, { list: bits, set }) => {
        const hashes = list.map((each) => Buffer.from(each));
        const text = encodeHashes(hashes);
        expect(decodeHashes(text, hashes.length)).toEqual(hashes);
        expect(() => decodeHashes(text, hashes.length - 1)).toThrow(refused);
        expect(() => decodeHashes(Buffer.concat([...hashes, Buffer.of(1)]).toString('base64'), 100)).toThrow(
          refused,
        );
        const held = encodeHeld(set);
        expect(listOf(decodeHeld(held, bits.length))).toEqual(bits);
        expect(() => decodeHeld(held, bits.length + 8)).toThrow(refused);
        expect(() => decodeHeld(encodeHeld(BlockSet.all(bits.length)), bits.length - 1)).toThrow(refused);
      }),
    );
  });

  it('have limits', () => {
    expect(() => decodeHashes('', 10)).toThrow(refused);
    const most = Array.from({ length: MAX_FRAME_HASHES }, () => Buffer.alloc(DELTA_HASH_BYTES));
    expect(encodeHashes(most)).toHaveLength(MAX_HASHES_CHARACTERS);
    expect(decodeHashes(encodeHashes(most), MAX_DELTA_BLOCKS)).toHaveLength(MAX_FRAME_HASHES);
    expect(() => decodeHashes(encodeHashes([...most, most[0]!]), MAX_DELTA_BLOCKS)).toThrow(refused);
  });
});
