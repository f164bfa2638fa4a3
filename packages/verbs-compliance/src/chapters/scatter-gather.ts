import assert from 'node:assert/strict';
import type { ScatterGatherEntry } from '@rdmc/verbs';
import { range } from '../rig/expect.js';
import { connected } from '../rig/peer.js';
import type { PeerRegion } from '../rig/region.js';
import type { SuiteContext } from '../suite-context.js';

const MAX_ENTRIES = 4;
const GAP = 37;
const SLACK = 4 * GAP + 64;

interface Piece {
  readonly offset: number;
  readonly length: number;
  readonly from: number;
}

/** Splits `total` into `count` pieces of odd lengths, with gaps between them in a region. */
function split(total: number, count: number): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (let i = 0; i < count; i += 1) {
    const left = total - from;
    const length = i === count - 1 ? left : Math.min(left, Math.floor(left / (count - i + 1)) | 1);
    pieces.push({ offset: from + (i + 1) * GAP, length, from });
    from += length;
  }
  return pieces;
}

function entries(region: PeerRegion, pieces: readonly Piece[]): ScatterGatherEntry[] {
  return pieces.map((piece) => region.sge(piece.offset, piece.length));
}

async function fillPieces(region: PeerRegion, pieces: readonly Piece[], seed: number): Promise<void> {
  for (const { offset, length, from } of pieces) await region.fill(seed, offset, length, from);
}

async function holdPieces(
  region: PeerRegion,
  pieces: readonly Piece[],
  seed: number,
  around: number,
): Promise<void> {
  let previous = 0;
  for (const { offset, length, from } of pieces) {
    await region.holds(seed, offset, length, from);
    await region.holds(around, previous, offset - previous, previous);
    previous = offset + length;
  }
  await region.holds(around, previous, region.length - previous, previous);
}

export function scatterGather({ test }: SuiteContext): void {
  for (const total of [10_007, 1_048_583]) {
    for (const gather of range(MAX_ENTRIES, 1)) {
      test(`${total} bytes from ${gather} entries into 1 to 4`, { bothWays: true }, async (a, b) => {
        const [near, far] = await connected(a, b);
        const [mine, theirs] = await Promise.all([a.region(total + SLACK), b.region(total + SLACK)]);
        const sources = split(total, gather);
        for (const scatter of range(MAX_ENTRIES, 1)) {
          const targets = split(total, scatter);
          await theirs.fill(50);
          await fillPieces(mine, sources, scatter);
          await far.receive({ id: scatter, sges: entries(theirs, targets) });
          await near.post({ id: scatter, opcode: 'SEND', sges: entries(mine, sources) });
          const [, received] = await Promise.all([near.done(scatter), far.done(scatter)]);
          assert.equal(received.byteLength, total);
          await holdPieces(theirs, targets, scatter, 50);
        }
      });
    }
  }

  test('WRITE gathers, READ scatters', { bothWays: true }, async (a, b) => {
    const total = 70_001;
    const [near] = await connected(a, b);
    const [mine, theirs] = await Promise.all([a.region(total + SLACK), b.region(total + SLACK)]);
    for (const count of range(MAX_ENTRIES, 1)) {
      const pieces = split(total, count);
      await Promise.all([fillPieces(mine, pieces, count), theirs.fill(50)]);
      await near.run({ opcode: 'WRITE', sges: entries(mine, pieces), remote: theirs.remote(11) });
      await theirs.holdsOnly(count, 11, total, 50);
      await mine.fill(51);
      await near.run({ opcode: 'READ', sges: entries(mine, pieces), remote: theirs.remote(11) });
      await holdPieces(mine, pieces, count, 51);
    }
  });

  test('a shorter message does not change the rest of the entries', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, theirs] = await Promise.all([a.region(100), b.region(300)]);
    await Promise.all([mine.fill(1), theirs.fill(50)]);
    await far.receive({ id: 1, sges: [theirs.sge(0, 60), theirs.sge(100, 60), theirs.sge(200, 60)] });
    await near.post({ id: 1, opcode: 'SEND', sges: [mine.sge(0, 73)] });
    const [, received] = await Promise.all([near.done(1), far.done(1)]);
    assert.equal(received.byteLength, 73);
    await theirs.holds(1, 0, 60);
    await theirs.holds(1, 100, 13, 60);
    await theirs.holds(50, 60, 40, 60);
    await theirs.holds(50, 113, 187, 113);
  });

  test('entries of length 0 have no effect', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, theirs] = await Promise.all([a.region(100), b.region(100)]);
    await Promise.all([mine.fill(1), theirs.fill(50)]);
    await far.receive({ id: 1, sges: [theirs.sge(0, 0), theirs.sge(10, 30), theirs.sge(99, 0)] });
    await near.post({ id: 1, opcode: 'SEND', sges: [mine.sge(5, 0), mine.sge(0, 30)] });
    const [, received] = await Promise.all([near.done(1), far.done(1)]);
    assert.equal(received.byteLength, 30);
    await theirs.holdsOnly(1, 10, 30, 50);
  });
}
