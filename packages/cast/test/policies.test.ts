import { readFileSync } from 'node:fs';
import { automaticBlockSize } from '@rdmc/group';
import { thrown } from '@rdmc/testing';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_MESSAGE_BYTES, KIB, MIB, MIN_STALL_TIMEOUT_MS } from '../src/constants.js';
import { CastError } from '../src/errors.js';
import { eventQueue } from '../src/event-queue.js';
import { SOFTWARE } from '../src/identity.js';
import { Latest } from '../src/latest.js';
import { messageSize } from '../src/message-size.js';
import { ProblemList } from '../src/problems.js';
import type { ReceiverEvent } from '../src/receiver-events.js';
import type { ReceiverLink } from '../src/sender/receiver-link.js';
import { StallWatch } from '../src/sender/stall-watch.js';
import { TokenBucket } from '../src/sender/token-bucket.js';
import { streamBlockSize } from '../src/stream-block-size.js';

describe('the size of messages', () => {
  it.each([
    [0, 4 * MIB],
    [100, 4 * MIB],
    [8 * MIB, 4 * MIB + 64 * KIB],
    [30 * MIB, 6.0625 * MIB],
    [64 * MIB, 8 * MIB],
    [256 * MIB, 8 * MIB],
    [10 * 1024 * MIB, 8 * MIB],
  ])('for %i bytes is %i', (total, size) => {
    expect(messageSize(total, DEFAULT_MESSAGE_BYTES)).toBe(size);
  });

  it('is never above the limit; casts have at most five messages, or as many as the limit requires', () => {
    const total = fc.integer({ min: 0, max: 2 ** 45 });
    const limit = fc.integer({ min: 65_536, max: 2 ** 30 });
    fc.assert(
      fc.property(total, limit, (bytes, most) => {
        const size = messageSize(bytes, most);
        expect(size).toBeLessThanOrEqual(most);
        expect(bytes / size).toBeLessThanOrEqual(Math.max(5, bytes / most));
      }),
      { seed: 7 },
    );
  });
});

describe('the size of blocks', () => {
  it('is chosen for the whole cast, and is a small part of a message', () => {
    const whole = automaticBlockSize(64 * MIB, 8, ['tcp']);
    const of = (contentBytes: number, messageBytes: number, members: number, transport = 'tcp'): number =>
      streamBlockSize({ contentBytes, messageBytes, members, transports: [transport] });
    expect(of(64 * MIB, 64 * MIB, 8)).toBe(whole);
    expect(of(64 * MIB, 13 * MIB, 8)).toBe(Math.min(whole, 128 * KIB));
    expect(of(2 ** 40, 64 * KIB, 8)).toBe(16 * KIB);
    expect(of(0, 4 * MIB, 2, 'shm')).toBe(64 * KIB);
  });

  it('is smaller in a long chain over a network', () => {
    const of = (members: number, transport = 'tcp'): number =>
      streamBlockSize({
        ...{ contentBytes: 64 * MIB, messageBytes: 64 * MIB, members },
        ...{ transports: [transport], algorithm: 'chain' },
      });
    expect([3, 8, 16, 64, 4095].map((members) => of(members) / KIB)).toEqual([256, 64, 64, 32, 32]);
    expect(of(64, 'shm')).toBe(automaticBlockSize(64 * MIB, 64, ['shm']));
  });
});

describe('with fake timers', () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('a token bucket limits the rate, and keeps the order of calls', async () => {
    const bucket = new TokenBucket(1_000_000);
    const passed: [number, number][] = [];
    const start = performance.now();
    const { signal } = new AbortController();
    const takes = [0, 1, 2, 3].map(async (number) => {
      await bucket.take(250_000, signal);
      passed.push([number, Math.round(performance.now() - start)]);
    });
    await vi.advanceTimersByTimeAsync(2_000);
    await Promise.all(takes);
    expect(passed).toEqual([
      [0, 0],
      [1, 250],
      [2, 500],
      [3, 750],
    ]);
  });

  it('an abort releases all waiting calls of a token bucket', async () => {
    const bucket = new TokenBucket(1_000);
    const abort = new AbortController();
    const takes = [1, 2, 3].map(() => bucket.take(1_000_000, abort.signal));
    abort.abort();
    await Promise.all(takes);
    expect(performance.now()).toBeLessThan(1_000_000);
  });

  describe('the stall watch drops', () => {
    interface Fake {
      name: string;
      alive: boolean;
      done: undefined;
      silentMs: number;
      progress: ReceiverLink['progress'];
      send: ReturnType<typeof vi.fn>;
    }
    const link = (name: string, progress: Partial<ReceiverLink['progress']> = {}): Fake => ({
      name,
      alive: true,
      done: undefined,
      silentMs: 0,
      progress: { receivedMessages: 0, partialBytes: 0, storedMessages: 0, writerBusyMs: 0, ...progress },
      send: vi.fn(),
    });

    const LIMIT_MS = 5_000;

    /** Runs the watch for some seconds and calls `tick` ten times a second. Returns the dropped receivers. */
    async function watch(
      links: Fake[],
      seconds: number,
      tick: () => void,
      sending = true,
      limitMs = LIMIT_MS,
    ): Promise<string[]> {
      const dropped: string[] = [];
      const stall = new StallWatch(
        limitMs,
        () => links as unknown as ReceiverLink[],
        () => links as unknown as ReceiverLink[],
        () => sending,
        (each, error) => {
          expect(error).toBeInstanceOf(CastError);
          (each as unknown as Fake).alive = false;
          dropped.push(`${each.name} ${error.code}`);
        },
      );
      for (let step = 0; step < seconds * 10; step += 1) {
        tick();
        await vi.advanceTimersByTimeAsync(100);
      }
      stall.stop();
      return dropped;
    }
    const heard = (links: Fake[]) => {
      for (const each of links) each.silentMs = 0;
    };
    const STALLED = 'ERR_RDMC_RECEIVER_STALLED';

    it('only the receiver that is silent', async () => {
      const links = [link('a'), link('b')];
      const tick = (): void => {
        heard([links[0]!]);
        links[0]!.progress = { ...links[0]!.progress, partialBytes: links[0]!.progress.partialBytes + 1 };
      };
      expect(await watch(links, 8, tick)).toEqual([`b ${STALLED}`]);
      expect(links[0]!.send.mock.calls.length).toBeGreaterThan(5);
    });

    it('nobody who sends something, and sends more heartbeats in a short limit, also to those that come later', async () => {
      const links = [link('a')];
      const tick = (): void => heard(links);
      expect(await watch(links, 10, tick, false)).toEqual([]);
      expect(links[0]!.send.mock.calls).toHaveLength(10);
      const late = link('late');
      let ticks = 0;
      const joining = (): void => {
        if (++ticks === 51) links.push(late);
        heard(links);
      };
      links[0]!.send.mockClear();
      expect(await watch(links, 10, joining, false, MIN_STALL_TIMEOUT_MS)).toEqual([]);
      expect(links[0]!.send.mock.calls.length).toBeGreaterThan(4 * 10);
      expect(late.send.mock.calls.length).toBeGreaterThan(4 * 5 - 1);
    });

    it('the receiver whose writer makes no progress', async () => {
      const links = [link('a', { partialBytes: 1 }), link('b', { writerBusyMs: 6_000, receivedMessages: 3 })];
      let bytes = 0;
      const tick = (): void => {
        heard(links);
        links[0]!.progress = { ...links[0]!.progress, partialBytes: ++bytes };
      };
      expect(await watch(links, 1, tick)).toEqual([`b ${STALLED}`]);
    });

    it('the receiver that has received least, when none makes progress', async () => {
      const links = [
        link('a', { receivedMessages: 2 }),
        link('b', { receivedMessages: 1, partialBytes: 9 }),
        link('c'),
      ];
      links[2]!.progress = { ...links[2]!.progress, receivedMessages: 1, partialBytes: 5 };
      for (const each of links)
        each.progress = { ...each.progress, storedMessages: each.progress.receivedMessages };
      expect(await watch(links, 6, () => heard(links))).toEqual([`c ${STALLED}`]);
    });

    it('the silent receiver, and not the one that has received least, when the others wait for it', async () => {
      const has = (messages: number) => ({ receivedMessages: messages, storedMessages: messages });
      const links = [link('a', has(1)), link('b', has(2))];
      let ticks = 0;
      // The standstill begins before the silence.
      const tick = (): void => heard(++ticks < 10 ? links : [links[0]!]);
      expect(await watch(links, 8, tick)).toEqual([`b ${STALLED}`]);
    });

    it('no receiver while nothing is being sent, or while a writer is active', async () => {
      const idle = [link('a'), link('b')];
      expect(await watch(idle, 20, () => heard(idle), false)).toEqual([]);
      const storing = [link('a', { receivedMessages: 3, storedMessages: 1, writerBusyMs: 100 }), link('b')];
      expect(await watch(storing, 20, () => heard(storing))).toEqual([]);
    });
  });
});

describe('snapshots', () => {
  it('are the latest ones, the last one included', async () => {
    const latest = new Latest<number>();
    latest.set(1);
    latest.set(2);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const each of latest) {
        seen.push(each);
        if (each === 2) {
          latest.set(3);
          latest.set(4);
          latest.end();
          latest.set(5);
        }
      }
    })();
    await reading;
    expect(seen).toEqual([2, 4]);
    expect(latest.value).toBe(4);
  });

  it('have one consumer at a time', async () => {
    const latest = new Latest<number>();
    latest.set(1);
    const first = latest[Symbol.asyncIterator]();
    await first.next();
    expect(thrown(() => latest[Symbol.asyncIterator]())).toMatchObject({ code: 'ERR_RDMC_ITERATOR_TAKEN' });
    await first.return!();
    latest.set(2);
    expect((await latest[Symbol.asyncIterator]().next()).value).toBe(2);
  });
});

describe('events of a receiver', () => {
  const receiverEvents = () => eventQueue<ReceiverEvent>('a receiver', ({ castId }) => castId);

  it('are kept in order, and of the progress of a cast only the latest', async () => {
    const queue = receiverEvents();
    const facts = { from: 'x', files: 1, bytes: 1 };
    const progress = { type: 'progress' as const, ...facts, storedBytes: 0 };
    queue.push({ type: 'began', encrypted: true, castId: 'a', ...facts });
    queue.push({ ...progress, castId: 'a', receivedBytes: 1 });
    queue.push({ ...progress, castId: 'b', receivedBytes: 2 });
    queue.push({ ...progress, castId: 'a', receivedBytes: 3 });
    queue.end();
    const seen: unknown[] = [];
    for await (const event of queue)
      seen.push([event.type, event.castId, (event as { receivedBytes?: number }).receivedBytes]);
    expect(seen).toEqual([
      ['began', 'a', undefined],
      ['progress', 'b', 2],
      ['progress', 'a', 3],
    ]);
  });

  it('are bounded in number where they are not read', async () => {
    const queue = receiverEvents();
    for (let number = 0; number < 5_000; number += 1) {
      queue.push({ type: 'began', encrypted: true, castId: `${number}`, from: 'x', files: 0, bytes: 0 });
    }
    queue.end();
    const seen: string[] = [];
    for await (const { castId } of queue) seen.push(castId);
    expect(seen).toHaveLength(1_000);
    expect(seen.at(-1)).toBe('4999');
  });
});

it('all problems are counted, the first ones are kept, and their texts are clipped', () => {
  const list = new ProblemList();
  for (let number = 0; number < 2_000; number += 1) {
    list.add({ path: `${number}`, code: 'ERR_RDMC_UNREADABLE', message: 'x'.repeat(5_000) });
  }
  expect(list.count).toBe(2_000);
  expect(list.kept).toHaveLength(500);
  expect(JSON.stringify(list.kept).length).toBeLessThan(400_000);
  const sum = new ProblemList();
  sum.addAll(list.kept, list.count);
  expect(sum.count).toBe(2_000);
  expect(sum.describe()).toContain('and 1999 more');
});

it('the software name on the wire has the version of the package', () => {
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    name: string;
    version: string;
  };
  expect(SOFTWARE).toBe(`${name} ${version}`);
});
