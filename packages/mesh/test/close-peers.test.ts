import { expect, it } from 'vitest';
import { ClosePeers } from '../src/close-peers.js';
import { MOST_CLOSE_MEMBERS } from '../src/constants.js';

const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** The close peers of each member, and what each was told of ends. */
function ring(ids: readonly number[]): Map<number, ClosePeers> {
  return new Map(
    ids.map((id) => [
      id,
      new ClosePeers(
        id,
        ids.filter((other) => other !== id),
      ),
    ]),
  );
}

const closeOf = (ids: readonly number[], own: number, peers: ClosePeers) =>
  ids.filter((id) => id !== own && peers.has(id));

it('in a short list all are close', () => {
  const ids = range(MOST_CLOSE_MEMBERS);
  for (const [own, peers] of ring(ids)) expect(closeOf(ids, own, peers)).toHaveLength(ids.length - 1);
});

it('in a longer one eight are, each of the other', () => {
  for (const length of [MOST_CLOSE_MEMBERS + 1, 31, 64, 100, 128]) {
    // Ids in any order, with gaps.
    const ids = range(length).map((index) => ((index * 7) % length) * 3);
    const all = ring(ids);
    for (const [own, peers] of all) {
      const close = closeOf(ids, own, peers);
      expect(close).toHaveLength(8);
      for (const peer of close) expect(all.get(peer)!.has(own)).toBe(true);
    }
  }
});

it('each of a third of all, with successive ids, is watched by another one', () => {
  const ids = range(128);
  const all = ring(ids);
  const block = ids.slice(60, 60 + 42);
  for (const own of block) {
    expect(closeOf(ids, own, all.get(own)!).some((peer) => !block.includes(peer))).toBe(true);
  }
});

it('when all that watch a member end with it, others watch it', () => {
  const ids = range(64);
  const all = ring(ids);
  const watchers = closeOf(ids, 20, all.get(20)!);
  const left = ids.filter((id) => !watchers.includes(id));
  for (const id of left) for (const watcher of watchers) all.get(id)!.ended(watcher);
  const next = closeOf(left, 20, all.get(20)!);
  expect(next.length).toBeGreaterThan(0);
  for (const peer of next) expect(all.get(peer)!.has(20)).toBe(true);
});
