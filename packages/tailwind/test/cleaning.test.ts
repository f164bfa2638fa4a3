import { refusal } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  type ClusterMember,
  coordinatedLog,
  SEGMENT,
  startCluster,
  startCoordinator,
} from './support/cluster.js';
import { KeyStore, recovered } from './support/key-store.js';

const MAX_SEGMENTS = 12;

/** Member 0 has the store, member 1 is the coordinator, and 1 to 3 are backups. */
async function rig(maxSegments = MAX_SEGMENTS) {
  const cluster = await startCluster(4, { buffers: 32 });
  await startCoordinator(cluster[1]!);
  const store = new KeyStore();
  store.log = await coordinatedLog(cluster[0]!, 1, { replicas: 2, maxSegments, ...store.options });
  return { cluster, store };
}

function value(round: number): string {
  return `${round} `.padEnd(100, 'v');
}

/** Large, so that few fill a segment: every write that is awaited alone costs a way to the worker and back. */
function largeValue(round: number): string {
  return `${round} `.padEnd(1500, 'v');
}

async function recover({ logs }: ClusterMember, logId: bigint): Promise<Map<string, string>> {
  const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId });
  const found = await recovered(recovery);
  await recovery.close();
  return found;
}

async function overwrite(store: KeyStore, rounds: number, keys: number, expected: Map<string, string>) {
  for (let round = 0; round < rounds; round += 1) {
    const sets: Promise<unknown>[] = [];
    for (let number = 0; number < keys; number += 1) {
      sets.push(store.set(`key ${number}`, value(round)));
      expected.set(`key ${number}`, value(round));
    }
    await Promise.all(sets);
  }
}

/** Objects that are never overwritten: only cleaning moves them. */
const COLD = 100;

describe('cleaning', () => {
  it('keeps space bounded under overwrites, here and at the backups, and loses nothing', async () => {
    const { cluster, store } = await rig();
    const expected = new Map<string, string>();
    for (let number = 0; number < COLD; number += 1) {
      await store.set(`cold ${number}`, value(number));
      expected.set(`cold ${number}`, value(number));
    }
    let most = 0;
    // How often cold objects are moved depends on when the cleaner runs, so the test lets it run.
    for (let times = 0; times < 6 || (store.moves <= COLD && times < 60); times += 1) {
      await overwrite(store, 10, 60, expected);
      most = Math.max(most, store.log.stats().segments);
    }
    const stats = store.log.stats();
    expect(stats.appendedBytes).toBeGreaterThan(2 * MAX_SEGMENTS * SEGMENT);
    expect(most).toBeLessThanOrEqual(MAX_SEGMENTS);
    expect(stats.cleanedSegments).toBeGreaterThan(MAX_SEGMENTS);
    expect(store.moves).toBeGreaterThan(COLD);
    expect(stats.movedBytes).toBeGreaterThan(0);
    for (const [key, text] of expected) expect(store.get(key)).toBe(text);
    const { id } = store.log;
    await cluster[0]!.kill();
    for (const { backup } of cluster.slice(1)) {
      expect((await backup.inventory(id)).length).toBeLessThanOrEqual(MAX_SEGMENTS);
    }
    expect(await recover(cluster[2]!, id)).toEqual(expected);
  });

  it('frees segments after their survivors are closed, named, behind closed heads, and in files', async () => {
    // Cleaning begins while four segments are free: appends go on while the survivor waits for its disk, also where it began late.
    const { cluster, store } = await rig(32);
    const expected = new Map<string, string>();
    const survivors = new Set<bigint>();
    const disk = { works: false };
    const waiting: (() => void)[] = [];
    const [opened, closed, freed] = [
      new Map<bigint, number>(),
      new Map<bigint, number>(),
      new Map<bigint, boolean>(),
    ];
    const count = (where: Map<bigint, number>, id: bigint) => where.set(id, (where.get(id) ?? 0) + 1);
    for (const { backup } of cluster) {
      const [open, flushed] = [backup.openReplica.bind(backup), backup.flushed.bind(backup)];
      const [close, free] = [backup.closeReplica.bind(backup), backup.freeReplica.bind(backup)];
      backup.openReplica = async (request) => {
        if (request.survivor) survivors.add(request.segmentId);
        const grant = await open(request);
        count(opened, request.segmentId);
        return grant;
      };
      backup.closeReplica = (ref, certificate) => {
        close(ref, certificate);
        count(closed, ref.segmentId);
      };
      backup.freeReplica = async (ref) => {
        freed.set(ref.segmentId, isInOrder());
        await free(ref);
      };
      backup.flushed = async (ref) => {
        if (survivors.has(ref.segmentId) && !disk.works)
          await new Promise<void>((resolve) => waiting.push(resolve));
        return flushed(ref);
      };
    }
    /** Whether the survivor is closed everywhere, a head after it is open, and all heads before that are closed. */
    const isInOrder = (): boolean => {
      const [survivor] = survivors;
      const heads = [...opened.keys()].filter((id) => !survivors.has(id)).sort((a, b) => (a < b ? -1 : 1));
      const carrier = heads.find((id) => id > (survivor ?? 0n));
      if (closed.get(survivor!) !== 2 || carrier === undefined || opened.get(carrier) !== 2) return false;
      return heads.filter((id) => id < carrier).every((id) => closed.get(id) === 2);
    };
    const write = async (key: string, text = largeValue(0)): Promise<bigint> => {
      await store.set(key, text);
      expected.set(key, text);
      return store.index.get(key)!.segmentId;
    };
    const writeCold = (from: number): Promise<unknown> =>
      Promise.all(Array.from({ length: 20 }, (_, index) => write(`cold ${from + index}`, value(0))));
    // Two segments with some live objects each, which fit into one; the other segments have no live objects.
    await writeCold(0);
    while ((await write('junk')) < 2n);
    await writeCold(20);
    const cold = new Set(
      Array.from({ length: 40 }, (_, number) => store.index.get(`cold ${number}`)!.segmentId),
    );
    while (waiting.length === 0) await write('junk');
    // Until the head that names the survivor is written; then all heads before it are closed.
    const [survivor] = survivors;
    while ((await write('junk')) < survivor! + 2n);
    expect(store.log.segmentIds).toEqual(expect.arrayContaining([...cold]));
    disk.works = true;
    for (const resume of waiting) resume();
    while (store.log.segmentIds.some((id) => cold.has(id))) await write('junk');
    while ([...cold].some((id) => !freed.has(id))) await write('junk');
    expect([...cold].map((id) => freed.get(id))).toEqual([...cold].map(() => true));
    const { id } = store.log;
    await cluster[0]!.kill();
    expect(await recover(cluster[2]!, id)).toEqual(expected);
  });

  it('lets tombstones expire, and no deleted object comes back', async () => {
    const { cluster, store } = await rig();
    const expected = new Map<string, string>();
    for (let round = 0; round < 60; round += 1) {
      const changes: Promise<unknown>[] = [];
      for (let number = 0; number < 20; number += 1) {
        // Overwritten before it is deleted: two objects, in different segments, need the tombstone.
        const [key, older] = [`once ${round} ${number}`, `once ${round - 5} ${number}`];
        changes.push(store.set(key, value(round)));
        expected.set(key, value(round));
        if (round % 7 === 3) changes.push(store.set(`cold ${round}`, value(round)));
        if (round % 7 === 3) expected.set(`cold ${round}`, value(round));
        if (store.index.has(older)) {
          changes.push(number % 2 === 0 ? store.set(older, value(-1)) : store.delete(older));
          if (number % 2 === 0) expected.set(older, value(-1));
          else expected.delete(older);
        }
        const oldest = `once ${round - 8} ${number}`;
        if (store.index.has(oldest)) {
          changes.push(store.delete(oldest));
          expected.delete(oldest);
        }
      }
      await Promise.all(changes);
    }
    const { segments, cleanedSegments, appendedBytes, liveBytes } = store.log.stats();
    expect(appendedBytes).toBeGreaterThan(1.5 * MAX_SEGMENTS * SEGMENT);
    expect(segments).toBeLessThanOrEqual(MAX_SEGMENTS);
    expect(cleanedSegments).toBeGreaterThan(0);
    expect(liveBytes).toBeLessThan(MAX_SEGMENTS * SEGMENT);
    const { id } = store.log;
    await cluster[0]!.kill();
    expect(await recover(cluster[2]!, id)).toEqual(expected);
  });

  it('is full only when all its entries are live; then it takes deletions, and continues', async () => {
    const { store } = await rig();
    const keys: string[] = [];
    let wasShort = store.log.isShort;
    expect(wasShort).toBe(false);
    const fill = async (prefix: string): Promise<unknown> => {
      try {
        for (let number = 0; ; number += 1) {
          wasShort = store.log.isShort;
          await store.set(`${prefix} ${number}`, largeValue(number));
          keys.push(`${prefix} ${number}`);
        }
      } catch (error) {
        return error;
      }
    };
    expect(await fill('first')).toEqual(refusal('ERR_RDMC_LOG_FULL'));
    // It was known before that this append might be refused.
    expect(wasShort).toBe(true);
    const { liveBytes } = store.log.stats();
    expect(liveBytes).toBeGreaterThan((MAX_SEGMENTS / 2 - 1) * SEGMENT);
    const count = keys.length;
    for (const key of keys.filter((_, index) => index % 3 > 0)) await store.delete(key);
    expect(await fill('second')).toEqual(refusal('ERR_RDMC_LOG_FULL'));
    expect(keys.length - count).toBeGreaterThan(count / 3);
    for (const key of keys.slice(count)) expect(store.get(key)).toBeDefined();
  });

  // The instants lie in the middle of measuring, of announcing moves, and between rounds.
  it.each([150, 700, 1500, 2600])(
    'loses nothing when the primary dies at call %i of the cleaner’s functions',
    async (instant) => {
      const { cluster, store } = await rig();
      const acknowledged = new Map<string, number>();
      let questions = 0;
      let killed: Promise<void> | undefined;
      const { isLive, moved } = store.cleaner;
      const tick = (): void => {
        questions += 1;
        // A data plane that this test ends does not report its own end, so the test closes the log.
        if (questions === instant) killed = cluster[0]!.kill().then(() => store.log.close());
      };
      Object.assign(store.cleaner, {
        isLive: (...asked: Parameters<typeof isLive>) => {
          tick();
          return isLive(...asked);
        },
        moved: (...told: Parameters<typeof moved>) => {
          tick();
          moved(...told);
        },
      });
      await expect(
        (async () => {
          for (let number = 0; number < 60; number += 1) await store.set(`cold ${number}`, '0');
          for (let round = 1; ; round += 1) {
            const sets = Array.from({ length: 60 }, async (_, number) => {
              const key = `key ${number}`;
              await store.set(key, `${round} `.padEnd(100, 'v'));
              acknowledged.set(key, round);
            });
            await Promise.all(sets);
          }
        })(),
      ).rejects.toThrow();
      await killed;
      const found = await recover(cluster[2]!, store.log.id);
      for (let number = 0; number < 60; number += 1) expect(found.get(`cold ${number}`)).toBe('0');
      expect(acknowledged.size).toBe(60);
      for (const [key, round] of acknowledged) {
        expect(Number.parseInt(found.get(key) ?? '', 10)).toBeGreaterThanOrEqual(round);
      }
    },
  );

  it('continues when a backup dies meanwhile', async () => {
    const { cluster, store } = await rig();
    const expected = new Map<string, string>();
    await overwrite(store, 20, 60, expected);
    const victim = store.log.backups.find((id) => id !== 1)!;
    let killed: Promise<void> | undefined;
    const { moved } = store.cleaner;
    Object.assign(store.cleaner, {
      moved: (...told: Parameters<typeof moved>) => {
        killed ??= cluster[victim]!.kill();
        moved(...told);
      },
    });
    await store.set('last', 'one');
    expected.set('last', 'one');
    while (!killed) await overwrite(store, 10, 60, expected);
    await killed;
    const before = store.log.stats().cleanedSegments;
    while (store.log.stats().cleanedSegments < before + 10) await overwrite(store, 10, 60, expected);
    for (const [key, text] of expected) expect(store.get(key)).toBe(text);
    const { id } = store.log;
    await cluster[0]!.kill();
    expect(await recover(cluster[victim === 2 ? 3 : 2]!, id)).toEqual(expected);
  });
});
