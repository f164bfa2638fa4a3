import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PIECE_ENTRIES } from '../src/constants.js';
import { MAX_ENTRY_STATE } from '../src/manifest/entry-states.js';
import type { ManifestEntry } from '../src/manifest/manifest-entry.js';
import { packStates, unpackStates } from '../src/manifest/packed-states.js';
import { decodePiece } from '../src/manifest/piece-decoder.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import { path } from './support/records.js';

const NOTHING = Buffer.alloc(0);
const time = fc.record({
  seconds: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
  nanoseconds: fc.integer({ min: 0, max: 999_999_999 }),
});
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const facts = {
  path,
  mode: fc.integer({ min: 0, max: 0o777 }),
  time,
  size: fc.maxSafeNat(),
  targetIndex: fc.integer({ min: 0, max: 0xffff_ffff }),
};
const none = fc.constant(undefined);
const entry: fc.Arbitrary<ManifestEntry> = fc.oneof(
  fc.record({ ...facts, kind: fc.constant('directory'), target: fc.constant(NOTHING), digest: none }),
  fc.record({
    ...facts,
    kind: fc.constant('file'),
    target: fc.constant(NOTHING),
    digest: fc.oneof(none, digest),
  }),
  fc.record({ ...facts, kind: fc.constant('symbolicLink'), target: path, digest: none }),
  fc.record({ ...facts, kind: fc.constant('hardLink'), target: path, digest: none }),
) as fc.Arbitrary<ManifestEntry>;

function encode(entries: readonly ManifestEntry[]) {
  const encoder = new PieceEncoder(0);
  for (const each of entries) expect(encoder.add(each)).toBe(true);
  return encoder.finish();
}

describe('a piece of the manifest', () => {
  it('is decoded as it was encoded', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), (entries) => {
        const { count, data } = encode(entries);
        expect([...decodePiece(count, data)]).toEqual(entries);
      }),
    );
  });

  it('that is damaged gives entries or an error with a code', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 5 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (entries, at, change) => {
          const { count, data } = encode(entries);
          const bytes = Buffer.from(data, 'base64');
          bytes[at % bytes.length]! ^= change;
          try {
            for (const { path: each } of decodePiece(count, bytes.toString('base64')))
              expect(each.length).toBeGreaterThan(0);
          } catch (error) {
            expect((error as { code: string }).code).toMatch(/^ERR_RDMC_(CAST_PROTOCOL|UNSAFE_PATH)$/);
          }
        },
      ),
    );
  });

  it('has a limit of entries and of bytes', () => {
    const [small] = fc.sample(entry, 1);
    const encoder = new PieceEncoder(0);
    for (let number = 0; number < MAX_PIECE_ENTRIES; number += 1)
      encoder.add({ ...small!, path: Buffer.from('a'), target: NOTHING, kind: 'file' });
    expect(encoder.add(small!)).toBe(false);
    const long = {
      ...small!,
      kind: 'hardLink',
      path: Buffer.alloc(4_096, 'a'),
      target: Buffer.alloc(4_096, 'b'),
    };
    const full = new PieceEncoder(0);
    let added = 0;
    while (full.add({ ...long, digest: undefined } as ManifestEntry)) added += 1;
    expect(added).toBeLessThan(70);
  });
});

describe('packed states', () => {
  it('are unpacked as they were packed; another number, and other values, are refused', () => {
    const states = fc.uint8Array({ max: MAX_ENTRY_STATE, maxLength: 500 });
    fc.assert(
      fc.property(states, (its) => {
        const packed = packStates(its);
        expect([...unpackStates(packed, its.length)]).toEqual([...its]);
        const refused = expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' });
        for (const count of [its.length + 1, ...(its.length > 0 ? [its.length - 1] : [])])
          expect(() => unpackStates(packed, count)).toThrow(refused);
        expect(() => unpackStates(packStates(Uint8Array.of(MAX_ENTRY_STATE + 1)), 1)).toThrow(refused);
      }),
    );
  });
});
