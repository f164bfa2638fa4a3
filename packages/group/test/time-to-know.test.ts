import type { Mesh } from '@rdmc/mesh';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WATCH_LATEST_MS } from '../src/constants.js';
import { FailureInquiry } from '../src/failure-inquiry.js';
import { type Memory, openMemory, type Path, WatchedMember } from './support/watched-member.js';

/** Looks until the cut: the probes go on. */
const LOOKS_BEFORE = 5;
const PHASE_MS = 20;
/** So long a member is watched. */
const LONG_MS = 8_000;

let memory: Memory;
beforeAll(async () => {
  memory = await openMemory();
});
afterAll(() => memory.close());

// The clock of the test: a busy machine does not change it.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => void vi.useRealTimers());

interface Failure {
  readonly path: Path;
  readonly meshIsCut: boolean;
  readonly retryMs: number;
  /** How long after a look it happens. */
  readonly phaseMs: number;
  /** Other groups of the node cause a turn as often as this; 0: there are none. */
  readonly turnMs: number;
}

/** What the mesh of a member says when it asks the one behind the broken path: that one knows nothing, or hears nothing. */
function mesh(isCut: boolean): Mesh {
  const request = (_to: number, _topic: string, _body: unknown, { signal }: { signal: AbortSignal }) =>
    isCut
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      : Promise.resolve(null);
  return { request } as unknown as Mesh;
}

/** How long it takes from the cut of the path to the verdict of a member that waits for the one behind it. */
async function timeToKnow({ path, meshIsCut, retryMs, phaseMs, turnMs }: Failure): Promise<number> {
  const member = new WatchedMember(memory, retryMs);
  const turns = turnMs > 0 ? setInterval(() => member.turn(), turnMs) : undefined;
  await vi.advanceTimersByTimeAsync(LOOKS_BEFORE * WATCH_LATEST_MS + phaseMs);
  const cutAt = performance.now();
  member.path = path;
  let known: number | undefined;
  const inquiry = new FailureInquiry(mesh(meshIsCut), 1);
  void member.trouble
    .then(({ code, reason }) => inquiry.ask(1, 'nonce', code, reason))
    .then(({ culprit }) => {
      expect(culprit).toBe(1);
      known = performance.now() - cutAt;
    });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  clearInterval(turns);
  await member.stop();
  return known!;
}

describe('a path that fails while all wait', () => {
  const cases = (['cut', 'lost'] as const).flatMap((path) =>
    [1000, 2000, 2299].flatMap((retryMs) =>
      [false, true].map((meshIsCut) => ({
        path,
        retryMs,
        meshIsCut,
        boundMs: retryMs + (meshIsCut ? 2000 : 1000),
      })),
    ),
  );

  it.each(cases)(
    'requests are $path, retries $retryMs ms, mesh cut: $meshIsCut: a member knows within $boundMs ms',
    async ({ boundMs, ...failure }) => {
      for (const turnMs of [0, 70, 130]) {
        for (let phaseMs = 0; phaseMs < WATCH_LATEST_MS; phaseMs += PHASE_MS) {
          const tookMs = await timeToKnow({ ...failure, phaseMs, turnMs });
          expect(tookMs).toBeGreaterThanOrEqual(failure.retryMs);
          expect(tookMs).toBeLessThanOrEqual(boundMs);
        }
      }
    },
  );
});
