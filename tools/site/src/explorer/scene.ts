import { between, discRadius, lane, type Point } from './layout.js';
import type { SlowLink } from './settings.js';
import { heldAt, type Move, movesAt, type Timeline } from './timeline.js';

/** Where a block is shown if it does not move: not in the middle, where many links cross. */
export const REST = 0.3;

/** A block on its way, with its place in the picture. */
export interface Flight {
  readonly move: Move;
  readonly from: Point;
  readonly to: Point;
  readonly at: Point;
  readonly isSlow: boolean;
}

/** The picture of one schedule at one time. */
export interface Scene {
  /** For each member, how many blocks it has. */
  readonly held: readonly number[];
  readonly flights: readonly Flight[];
  /** Blocks that receivers have, and that they will have. */
  readonly delivered: number;
  readonly total: number;
  readonly isComplete: boolean;
}

/**
 * @param isSmooth blocks are shown where they are on their way; otherwise at one point of the link
 */
export function sceneAt(
  timeline: Timeline,
  time: number,
  places: readonly Point[],
  { slow, isSmooth }: { readonly slow: SlowLink | undefined; readonly isSmooth: boolean },
): Scene {
  const held = heldAt(timeline, time);
  const { blocks, nodes } = timeline.schedule;
  const delivered = held.reduce((sum, count) => sum + count, 0) - blocks;
  const total = blocks * (nodes - 1);
  const width = discRadius(places) * 0.3;
  const flights = movesAt(timeline, time).map((move): Flight => {
    const share = isSmooth ? (time - move.start) / (move.end - move.start) : REST;
    const { from, to } = lane(places[move.from]!, places[move.to]!, width);
    return { move, from, to, at: between(from, to, share), isSlow: joins(slow, move) };
  });
  return { held, flights, delivered, total, isComplete: delivered === total };
}

function joins(slow: SlowLink | undefined, { from, to }: Move): boolean {
  return (
    slow !== undefined &&
    Math.min(from, to) === Math.min(slow.a, slow.b) &&
    Math.max(from, to) === Math.max(slow.a, slow.b)
  );
}

/** The name of a block: a letter, as in the papers' figures, or a number from 27 blocks on. */
export function blockName(block: number, blocks: number): string {
  return blocks <= 26 ? String.fromCharCode(65 + block) : `${block + 1}`;
}

/** The moves of a picture as text: `0→1 A, 2→3 B`. */
export function movesText({ flights }: Scene, blocks: number): string {
  return flights.map(({ move }) => `${move.from}→${move.to} ${blockName(move.block, blocks)}`).join(', ');
}
