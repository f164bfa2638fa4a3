/**
 * A log that is cleaned, against a model. Keys are written, overwritten and deleted at random, while the cleaner runs.
 * Sometimes the connection to a backup breaks, and its replicas are replaced. After every effect at one backup, and
 * after every acknowledgement, the primary may have died, with one of its backups or alone. A recovery must then find
 * the values that the keys had after some operation, and not after one before the last acknowledged operation.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  breakPairs,
  type ClusterMember,
  coordinatedLog,
  startCluster,
  startCoordinator,
} from './support/cluster.js';
import { type CrashPoint, CrashPoints, recoveredAt, withEachLost } from './support/crash-points.js';
import { KeyStore, recovered } from './support/key-store.js';

const SEGMENT_BYTES = 4096;
const MAX_SEGMENTS = 10;
const KEYS = 16;
const BACKUPS = 3;
/** Minimum of cleaned segments in one run. */
const CLEANED = 8;

interface Step {
  readonly what: 'set' | 'delete';
  readonly key: number;
  readonly valueBytes: number;
  /** Whether to await all acknowledgements before the next operation; otherwise several go out as one group. */
  readonly waits: boolean;
  /** The backup whose connection breaks before this step. */
  readonly breaks: number | undefined;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('set', 'set', 'set', 'delete'),
  // Some keys are written seldom: only cleaning moves them.
  key: fc.oneof(fc.nat(KEYS / 4), fc.nat(KEYS - 1)),
  valueBytes: fc.integer({ min: 1, max: 200 }),
  waits: fc.boolean(),
  breaks: fc.oneof(
    { weight: 30, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: BACKUPS }) },
  ),
});

/** The operations, in order: operation n has version n in the log. */
class Model {
  readonly #done: { readonly key: string; readonly value: string | undefined }[] = [];
  acknowledged = 0;

  get issued(): number {
    return this.#done.length;
  }

  push(key: string, value: string | undefined): number {
    return this.#done.push({ key, value });
  }

  /** @throws unless the keys held this after one of the operations from `least` to `most`, both included */
  requireMoment(found: ReadonlyMap<string, string>, least: number, most: number): void {
    const values = new Map<string, string>();
    for (const done of this.#done.slice(0, least)) apply(values, done);
    for (let count = least; count <= most; count += 1) {
      if (count > least) apply(values, this.#done[count - 1]!);
      if (isSame(values, found)) return;
    }
    throw new Error(
      `${[...found.keys()]} were not what was there after any operation of ${least} to ${most}`,
    );
  }
}

function apply(
  values: Map<string, string>,
  { key, value }: { key: string; value: string | undefined },
): void {
  if (value === undefined) values.delete(key);
  else values.set(key, value);
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** Repeats the steps on a log of member 0 until enough segments were cleaned; then member 2 recovers it. */
async function run(cluster: readonly ClusterMember[], steps: readonly Step[]): Promise<number> {
  const [primary, , recoverer] = cluster as [ClusterMember, ClusterMember, ClusterMember];
  const store = new KeyStore();
  store.log = await coordinatedLog(primary, 1, {
    replicas: 2,
    segmentBytes: SEGMENT_BYTES,
    maxSegments: MAX_SEGMENTS,
    // A slow backup must not count as lost: while too many are lost, appends are refused.
    retryTimeoutMs: 600_000,
    ...store.options,
  });
  const { log } = store;
  const model = new Model();
  const points = new CrashPoints(cluster.slice(1), log.id, () => {
    const [least, most] = [model.acknowledged, model.issued];
    return (point: CrashPoint) =>
      withEachLost(point, (lost) =>
        model.requireMoment(recoveredAt(point, log.id, lost).values, least, most),
      );
  });
  while (log.stats().cleanedSegments < CLEANED) {
    await carryOut(primary, steps, store, model, points);
    await points.judged();
  }
  await log.close();
  points.end();
  const { logs } = recoverer;
  const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId: log.id });
  model.requireMoment(await recovered(recovery), model.acknowledged, model.issued);
  await recovery.finish([]);
  return points.judged();
}

async function carryOut(
  primary: ClusterMember,
  steps: readonly Step[],
  store: KeyStore,
  model: Model,
  points: CrashPoints,
): Promise<void> {
  let open: Promise<void>[] = [];
  for (const { what, key: number, valueBytes, waits, breaks } of steps) {
    const key = `key ${number}`;
    if (breaks !== undefined) await breakPairs(primary, [breaks]);
    if (what === 'delete' && !store.index.has(key)) continue;
    const value = what === 'set' ? `${model.issued} `.padEnd(valueBytes, 'v') : undefined;
    const version = model.push(key, value);
    const done = value === undefined ? store.delete(key) : store.set(key, value);
    open.push(
      done.then(() => {
        model.acknowledged = Math.max(model.acknowledged, version);
        points.look(`the acknowledgement of operation ${version}`);
      }),
    );
    if (!waits) continue;
    await Promise.all(open);
    open = [];
  }
  await Promise.all(open);
}

it('recovers the values of the keys, whenever the primary dies', async () => {
  const cluster = await startCluster(1 + BACKUPS, { buffers: 32, segmentBytes: SEGMENT_BYTES });
  await startCoordinator(cluster[1]!);
  let looks = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 100 }), async (steps) => {
      looks += await run(cluster, steps);
    }),
    // Failing examples are not shrunk: each try is a whole log, and the cleaner runs at different moments in each try.
    { numRuns: 3, seed: 6, endOnFailure: true },
  );
  expect(looks).toBeGreaterThan(100);
});
