import type { ChannelOptions, HiPowerNode, Message, Requester, Responder } from '@rdmc/hipower';
import { rejection, thrown } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startCluster, stopCluster } from './support/cluster.js';
import { startMembers } from './support/members.js';

let nodes: HiPowerNode[];
beforeAll(async () => {
  nodes = await startCluster(3);
});
afterAll(() => stopCluster(nodes));

const REFUSING = new URL('./support/refusing-worker.mjs', import.meta.url);

/** Time limit for a test that hangs. */
const LIMIT_MS = 120_000;

let channelNumber = 0;
function named(more: Partial<ChannelOptions> = {}): ChannelOptions {
  channelNumber += 1;
  return { channel: `life ${channelNumber}`, slots: 4, slotBytes: 64, timeoutMs: 60_000, ...more };
}

async function openPair(more: Partial<ChannelOptions> = {}): Promise<[Requester, Responder]> {
  const options = named(more);
  return Promise.all([
    nodes[0]!.createRequester({ ...options, to: 1 }),
    nodes[1]!.createResponder({ ...options, from: 0 }),
  ]);
}

async function openBroadcast(more: Partial<ChannelOptions> = {}): Promise<[Requester, Responder, Responder]> {
  const options = named(more);
  return Promise.all([
    nodes[0]!.createRequester({ ...options, to: [1, 2] }),
    nodes[1]!.createResponder({ ...options, from: 0 }),
    nodes[2]!.createResponder({ ...options, from: 0 }),
  ]);
}

async function consume(responder: Responder): Promise<number[][]> {
  const got: number[][] = [];
  for await (const message of responder) {
    got.push([...message.bytes]);
    message.release();
  }
  await responder.close();
  return got;
}

/** Takes everything up to the end, and does not release the last message. */
async function takeAll(responder: Responder, expected: number): Promise<Message> {
  let last: Message | undefined;
  let taken = 0;
  for await (const message of responder) {
    last?.release();
    last = message;
    taken += 1;
  }
  expect(taken).toBe(expected);
  return last!;
}

const KINDS: Partial<ChannelOptions>[] = [
  { mode: 'pull' },
  { mode: 'push' },
  { confirmation: 'per-request' },
];

describe.each(KINDS)('responders that leave, %j', (kind) => {
  it('one of a broadcast leaves long before the other: it does not wait, and nothing fails', async () => {
    const [requester, first, second] = await openBroadcast(kind);
    for (let i = 0; i < 3; i += 1) await requester.write(Uint8Array.of(i));
    const ending = requester.end();
    // Resolves although the other one holds its messages: a READ of P is not needed for released slots.
    expect(await consume(first)).toEqual([[0], [1], [2]]);
    const held = await takeAll(second, 3);
    expect([...held.bytes]).toEqual([2]);
    held.release();
    await Promise.all([ending, second.close()]);
    expect(requester.counters().peers.map(({ released }) => released)).toEqual([3, 3]);
  });

  it('one leaves while the requester reconnects', async () => {
    const [requester, first, second] = await openBroadcast(kind);
    for (let i = 0; i < 3; i += 1) await requester.write(Uint8Array.of(i));
    const ending = requester.end();
    await first.readable();
    const got = consume(first);
    requester.reconnect();
    expect(await got).toEqual([[0], [1], [2]]);
    requester.reconnect();
    expect(await consume(second)).toEqual([[0], [1], [2]]);
    await ending;
  });

  it('one closes with an unreleased message after it took the end: the requester fails at once, not by a time-out', async () => {
    const [requester, responder] = await openPair({ ...kind, timeoutMs: 60_000 });
    await requester.write(Uint8Array.of(1));
    await requester.write(Uint8Array.of(2));
    const ending = rejection(requester.end());
    await takeAll(responder, 2);
    await responder.close();
    const error = await ending;
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_CLOSED', memberId: 1 });
    expect(error.progress).toMatchObject([{ memberId: 1, delivered: 2 }]);
  });
});

describe('closing and connecting', () => {
  it('close() in the middle of a reconnect does not end the worker', async () => {
    for (let i = 0; i < 20; i += 1) {
      const [requester, responder] = await openPair();
      requester.reconnect();
      for (let turn = 0; turn < i; turn += 1) await Promise.resolve();
      if (i % 3 === 1) await requester.counters();
      await requester.close();
      expect((await rejection(responder.readable())).code).toBe('ERR_RDMC_HIPOWER_PEER_CLOSED');
      await responder.close();
    }
    const [requester, responder] = await openPair();
    await requester.write(Uint8Array.of(7));
    const [got] = await Promise.all([consume(responder), requester.end()]);
    expect(got).toEqual([[7]]);
  });

  it('many reconnects at once end in one connection', async () => {
    const [requester, responder] = await openPair();
    const got = consume(responder);
    for (let i = 0; i < 200; i += 1) {
      await requester.write(Uint8Array.of(i));
      if (i % 7 === 0) requester.reconnect();
    }
    await requester.end();
    expect(await got).toEqual(Array.from({ length: 200 }, (_, i) => [i]));
  });

  it('the signal of the creation ends the creation, but not a later reconnect', async () => {
    const abort = new AbortController();
    const options = named({ signal: abort.signal });
    const [requester, responder] = await Promise.all([
      nodes[0]!.createRequester({ ...options, to: 1 }),
      nodes[1]!.createResponder({ ...options, from: 0 }),
    ]);
    abort.abort();
    requester.reconnect();
    await requester.write(Uint8Array.of(1));
    const [got] = await Promise.all([consume(responder), requester.end()]);
    expect([got, requester.generation]).toEqual([[[1]], 2]);
  });

  it('a node that closes ends pending creations', async () => {
    const [a, b] = await startCluster(2);
    const creations = [
      a!.createRequester({ ...named({ timeoutMs: 600_000 }), to: 1 }),
      a!.createResponder({ ...named({ timeoutMs: 600_000 }), from: 1 }),
    ].map(rejection);
    await a!.close();
    const codes = (await Promise.all(creations)).map(({ code }) => code);
    expect(codes).toEqual(['ERR_RDMC_HIPOWER_NODE_CLOSED', 'ERR_RDMC_HIPOWER_NODE_CLOSED']);
    await b!.close();
  });

  it('after close every call is refused', async () => {
    const [requester, responder] = await openPair();
    await requester.write(Uint8Array.of(1));
    await Promise.all([requester.close(), responder.close()]);
    expect(requester.room).toBe(0);
    expect(requester.counters().peers).toMatchObject([{ memberId: 1 }]);
    const calls = [
      requester.hasRoom(),
      requester.drain(),
      requester.end(),
      requester.write(new Uint8Array(1)),
    ];
    for (const call of [...calls, responder.readable()]) {
      expect((await rejection(call)).code).toBe('ERR_RDMC_HIPOWER_CLOSED');
    }
    for (const call of [() => requester.reserve(1), () => requester.reconnect(), () => responder.take()]) {
      expect(thrown(call).code).toBe('ERR_RDMC_HIPOWER_CLOSED');
    }
  });
});

// With two responders, requests to the other one are between the refused request and those behind it.
it.each(KINDS.flatMap((kind) => [1, 2].map((count) => [kind, count] as const)))(
  'a refused request in the middle of a batch breaks the connection, but no slot is lost, %j, responders: %i',
  async (kind, count) => {
    const [sender, ...receivers] = await startMembers(1 + count, { 0: { module: REFUSING } });
    const options = { ...named(kind), slots: 64 };
    const [requester, ...responders] = await Promise.all([
      sender!.node.createRequester({ ...options, to: receivers.map(({ node }) => node.id) }),
      ...receivers.map(({ node }) => node.createResponder({ ...options, from: 0 })),
    ]);
    const numbers = Array.from({ length: 200 }, (_, i) => [i]);
    for (const [number] of numbers.slice(0, 60)) requester.tryWrite(Uint8Array.of(number!));
    const got = responders.map(consume);
    for (const [number] of numbers.slice(60)) await requester.write(Uint8Array.of(number!));
    await requester.end();
    for (const each of got) expect(await each).toEqual(numbers);
    expect(requester.generation).toBe(2);
  },
);

describe.each(KINDS)('writing, %j', (kind) => {
  it('fragments of a message are consecutive', async () => {
    const [requester, responder] = await openPair(kind);
    const held: number[] = [];
    for (let i = 0; i < 2; i += 1) {
      await requester.write(Uint8Array.of(i));
      await responder.readable();
      held.push(responder.take());
    }
    const reserved = requester.reserve(1);
    requester.memory[requester.offsetOf(reserved)] = 77;
    // One slot is free, and the message needs two.
    const long = requester.write(new Uint8Array(100).fill(5));
    expect(thrown(() => requester.reserve(1)).code).toBe('ERR_RDMC_HIPOWER_BUSY');
    requester.commit(reserved);
    for (const handle of held) responder.release(handle);
    await long;
    const sizes: number[] = [];
    const ending = requester.end();
    for await (const message of responder) {
      sizes.push(message.byteLength, message.bytes[0]!);
      message.release();
    }
    await Promise.all([ending, responder.close()]);
    expect(sizes).toEqual([1, 77, 100, 5]);
  });

  it('a write that was aborted is not sent, wherever it waits', async () => {
    const [requester, responder] = await openPair(kind);
    const gone = rejection(requester.write(Uint8Array.of(9), { signal: AbortSignal.abort() }));
    expect((await gone).code).toBe('ERR_RDMC_ABORTED');
    const abort = new AbortController();
    const whole = new Uint8Array(256);
    await requester.write(Uint8Array.of(1));
    const writes = [
      requester.write(whole.fill(2)),
      requester.write(Uint8Array.of(3), { signal: abort.signal }),
      requester.write(Uint8Array.of(4)),
    ];
    const cause = new Error('enough');
    abort.abort(cause);
    expect(await rejection(writes[1]!)).toMatchObject({
      name: 'AbortError',
      code: 'ERR_RDMC_ABORTED',
      cause,
    });
    const got = consume(responder);
    await Promise.all([writes[0], writes[2]]);
    await requester.end();
    expect((await got).map(([first]) => first)).toEqual([1, 2, 4]);
  });

  it('end() beside drain() ends', async () => {
    for (let i = 0; i < 10; i += 1) {
      const [requester, responder] = await openPair(kind);
      await requester.write(Uint8Array.of(1));
      const got = consume(responder);
      await Promise.all([requester.drain(), requester.end(), requester.drain()]);
      expect(await got).toEqual([[1]]);
    }
  });
});

describe.each(['pull', 'push'] as const)('the cost of waiting, %s', (mode) => {
  it('a drain is woken once, not for every slot', async () => {
    const [requester, responder] = await openPair({ mode, slots: 8, spinMs: 0, maxIdleMs: 1 });
    for (let i = 0; i < 8; i += 1) await requester.write(Uint8Array.of(i));
    const iterator = responder[Symbol.asyncIterator]();
    const messages: Message[] = [];
    for (let i = 0; i < 8; i += 1) messages.push((await iterator.next()).value as Message);
    const before = requester.counters();
    const draining = requester.drain();
    for (const message of messages.slice(1)) {
      message.release();
      const { reads } = requester.counters();
      await vi.waitFor(() => expect(requester.counters().reads).toBeGreaterThan(reads + 5), LIMIT_MS);
    }
    expect(requester.counters().events - before.events).toBeLessThanOrEqual(1);
    messages[0]!.release();
    await draining;
    expect(requester.counters().events - before.events).toBeLessThanOrEqual(2);
    await Promise.all([requester.close(), responder.close()]);
  });

  it.each([0, 0.5, 1])(
    'one free slot wakes a waiter for one slot, refresh threshold %d',
    async (refreshThreshold) => {
      const [requester, responder] = await openPair({ mode, slots: 64, refreshThreshold });
      for (let i = 0; i < 64; i += 1) await requester.write(Uint8Array.of(i));
      const waiting = requester.hasRoom();
      await responder.readable();
      responder.release(responder.take());
      await waiting;
      expect(requester.room).toBe(1);
      await Promise.all([requester.close(), responder.close()]);
    },
  );

  it('P is not read while more than half of the slots were never used', async () => {
    const [requester, responder] = await openPair({ mode, slots: 64 });
    for (let i = 0; i < 20; i += 1) await requester.write(Uint8Array.of(i));
    for (let taken = 0; taken < 20; ) {
      await responder.readable();
      while (responder.take() >= 0) taken += 1;
    }
    expect(requester.counters().reads).toBe(0);
    await Promise.all([requester.close(), responder.close()]);
  });
});
