import { afterEach, describe, expect, it, vi } from 'vitest';
import { measureLatency } from '../src/bench/latency.js';
import { REGION_BYTES, TURN_MS } from '../src/bench/limits.js';
import type { Pair } from '../src/bench/pair.js';
import { runStream } from '../src/bench/stream.js';

/** The other process ends while so many requests have completed. */
const ENDS_AT = 200;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Two endpoints of which each wait for a request takes a millisecond, and whose other process ends at some time. */
function fakePair() {
  const counts = { waits: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => counts.waits);
  let failure: Error | undefined;
  const memory = new Uint8Array(REGION_BYTES);
  const spinUntil = (done: () => boolean): void => {
    counts.waits += 1;
    done();
    if (counts.waits !== ENDS_AT) return;
    setImmediate(() => {
      failure = new Error('it ended');
    });
  };
  const nothing = (): void => {};
  const region = { view: () => memory, remote: nothing };
  const posts = { begin: nothing, to: nothing, flush: nothing, beginReceive: nothing };
  const endpoint = { ...posts, region, spinUntil, sent: () => 1, received: () => 1 };
  const check = (): void => {
    if (failure) throw failure;
  };
  const pair = { endpoint, check, command: nothing, next: async () => ({}) };
  return { pair: pair as unknown as Pair, counts };
}

describe.each(['write', 'send', 'read'] as const)('a benchmark of %s', (operation) => {
  it.each([
    ['latency', (pair: Pair) => measureLatency(pair, operation, 4, 10_000)],
    ['bandwidth', (pair: Pair) => runStream(pair, { operation, byteLength: 4, seconds: 60 })],
  ])('lets the event loop notice the end of the other process: %s', async (_, measure) => {
    const { pair, counts } = fakePair();
    await expect(measure(pair)).rejects.toThrow('it ended');
    expect(counts.waits).toBeLessThanOrEqual(ENDS_AT + TURN_MS + 1);
  });
});
