import type { ChannelOptions, HiPowerNode, Requester, Responder } from '@rdmc/hipower';
import { rejection, startMembers, thrown, until } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectLimits } from '../src/connect-limits.js';
import { BOARD_STRIDE, boardBytes, writeEnd } from '../src/layout/board.js';
import { BoardIndex, boardsRegionBytes, boardView } from '../src/layout/boards-region.js';
import { deviceOver, startCluster, stopCluster } from './support/cluster.js';
import { regionOfLength } from './support/regions.js';

let nodes: HiPowerNode[];
beforeAll(async () => {
  nodes = await startCluster(2);
});
afterAll(() => stopCluster(nodes));

/** Time limit for a test that hangs. */
const LIMIT_MS = 120_000;

let channelNumber = 0;
async function openPair(more: Partial<ChannelOptions> = {}): Promise<[Requester, Responder]> {
  channelNumber += 1;
  const options = { channel: `errors ${channelNumber}`, slots: 4, slotBytes: 64, ...more };
  return Promise.all([
    nodes[0]!.createRequester({ ...options, to: 1 }),
    nodes[1]!.createResponder({ ...options, from: 0 }),
  ]);
}

describe('options', () => {
  const cases: [string, object, string][] = [
    ['no slots', { slots: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['more slots than the bitmap holds', { slots: 8193 }, 'ERR_RDMC_INVALID_OPTION'],
    ['more slots than receives', { slots: 100_000, confirmation: 'per-request' }, 'ERR_RDMC_INVALID_OPTION'],
    ['a slot too small', { slotBytes: 7 }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown mode', { mode: 'pulled' }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown confirmation', { confirmation: 'each' }, 'ERR_RDMC_INVALID_OPTION'],
    ['a share above 1', { refreshThreshold: 1.5 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a pool beyond 4 GiB', { slots: 8192, slotBytes: 1 << 20 }, 'ERR_RDMC_INVALID_OPTION'],
    ['no name', { channel: '' }, 'ERR_RDMC_INVALID_OPTION'],
    ['a misspelt option', { slotByte: 8 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['itself as peer', { to: 0 }, 'ERR_RDMC_UNKNOWN_MEMBER'],
    ['a peer that is not a member', { to: 9 }, 'ERR_RDMC_UNKNOWN_MEMBER'],
    ['a peer twice', { to: [1, 1] }, 'ERR_RDMC_INVALID_OPTION'],
    ['no peer', { to: [] }, 'ERR_RDMC_INVALID_OPTION'],
  ];
  it.each(cases)('%s', async (_name, options, code) => {
    const error = await rejection(nodes[0]!.createRequester({ channel: 'x', to: 1, ...options }));
    expect(error.code).toBe(code);
  });
});

describe('peers that do not match', () => {
  it.each([
    ['slots', { slots: 8 }],
    ['slotBytes', { slotBytes: 128 }],
    ['mode', { mode: 'pull' }],
    ['confirmation', { confirmation: 'per-request' }],
  ])('a different %s: an error on both sides', async (field, other) => {
    const channel = `mismatch ${field}`;
    const base = { channel, slots: 4, slotBytes: 64, timeoutMs: 60_000 };
    const errors = await Promise.all([
      rejection(nodes[0]!.createRequester({ ...base, to: 1 })),
      rejection(nodes[1]!.createResponder({ ...base, ...(other as object), from: 0 })),
    ]);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_MISMATCH', field });
    expect(errors.map(({ memberId }) => memberId)).toEqual([1, 0]);
  });

  it('a missing peer: either side names it; an abort ends the wait', async () => {
    const requester = nodes[0]!.createRequester({ channel: 'nobody', to: 1, timeoutMs: 50 });
    expect(await rejection(requester)).toMatchObject({ code: 'ERR_RDMC_HIPOWER_TIMEOUT', missing: [1] });
    const responder = nodes[0]!.createResponder({ channel: 'nobody', from: 1, timeoutMs: 50 });
    expect(await rejection(responder)).toMatchObject({ code: 'ERR_RDMC_HIPOWER_TIMEOUT', missing: [1] });
    const abort = AbortSignal.timeout(20);
    const aborted = nodes[0]!.createRequester({ channel: 'nobody', to: 1, signal: abort });
    expect(await rejection(aborted)).toMatchObject({ name: 'AbortError', cause: abort.reason });
  });

  it('a name in use', async () => {
    const [requester, responder] = await openPair();
    const again = nodes[0]!.createRequester({ channel: requester.channel, to: 1 });
    expect((await rejection(again)).code).toBe('ERR_RDMC_HIPOWER_CHANNEL_EXISTS');
    await Promise.all([requester.close(), responder.close()]);
  });

  it('devices that cannot connect to each other', async () => {
    const insisting = { device: deviceOver('shm') };
    const started = startCluster(2, insisting);
    await stopCluster(await started);
    const { reserveLoopbackPorts } = await import('@rdmc/mesh/loopback');
    const { HiPowerNode: Node } = await import('@rdmc/hipower');
    const reserved = await reserveLoopbackPorts(2);
    const transports = ['shm', 'tcp'] as const;
    const errors = await startMembers(reserved, (place) =>
      rejection(Node.join({ ...place, device: { device: 'soft', transport: transports[place.id]! } })),
    );
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_DEVICE_MISMATCH', field: 'transport' });
    }
  });
});

describe('use', () => {
  it('messages too large: for a slot, for the pool', async () => {
    const [requester, responder] = await openPair();
    expect(thrown(() => requester.reserve(65)).code).toBe('ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE');
    expect(thrown(() => requester.reserve(-1)).code).toBe('ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE');
    expect(thrown(() => requester.tryWrite(new Uint8Array(65))).code).toBe(
      'ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE',
    );
    const whole = rejection(requester.write(new Uint8Array(257)));
    expect((await whole).code).toBe('ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE');
    await Promise.all([requester.close(), responder.close()]);
  });

  it('slots that are not reserved; cancel gives one back', async () => {
    const [requester, responder] = await openPair();
    for (const slot of [0, -1, 4, 1.5, Number.NaN]) {
      expect(thrown(() => requester.commit(slot)).code).toBe('ERR_RDMC_HIPOWER_NOT_RESERVED');
    }
    const slot = requester.reserve(8);
    requester.commit(slot);
    expect(thrown(() => requester.commit(slot)).code).toBe('ERR_RDMC_HIPOWER_NOT_RESERVED');
    const before = requester.room;
    requester.cancel(requester.reserve(8));
    expect(requester.room).toBe(before);
    await Promise.all([requester.close(), responder.close()]);
  });

  it('release() twice, also when the slot holds another message by then; and after close', async () => {
    const [requester, responder] = await openPair({ slots: 1 });
    const iterator = responder[Symbol.asyncIterator]();
    await requester.write(Uint8Array.of(1));
    const first = (await iterator.next()).value!;
    first.release();
    expect(thrown(() => first.release()).code).toBe('ERR_RDMC_HIPOWER_RELEASED');
    await requester.write(Uint8Array.of(2));
    const second = (await iterator.next()).value!;
    expect(thrown(() => first.release()).code).toBe('ERR_RDMC_HIPOWER_RELEASED');
    expect(thrown(() => first.bytes).code).toBe('ERR_RDMC_HIPOWER_RELEASED');
    for (const handle of [-1, 99, 1.5])
      expect(thrown(() => responder.release(handle)).code).toMatch(/RELEASED/);
    expect([...second.bytes]).toEqual([2]);
    const closing = responder.close();
    expect(thrown(() => second.release()).code).toBe('ERR_RDMC_HIPOWER_CLOSED');
    await Promise.all([closing, requester.close()]);
  });

  it('a second iterator is refused', async () => {
    const [requester, responder] = await openPair();
    const iterator = responder[Symbol.asyncIterator]();
    const waiting = iterator.next();
    const second = rejection(responder[Symbol.asyncIterator]().next());
    expect((await second).code).toBe('ERR_RDMC_HIPOWER_ITERATOR_TAKEN');
    await Promise.all([requester.end(), waiting]);
    await responder.close();
  });

  it('calls after end or close are refused', async () => {
    const [requester, responder] = await openPair();
    const ending = requester.end();
    expect((await rejection(requester.write(new Uint8Array(1)))).code).toBe('ERR_RDMC_HIPOWER_ENDED');
    expect(await responder.readable()).toBe(true);
    expect([responder.take(), await responder.readable()]).toEqual([-1, false]);
    await ending;
    await responder.close();
    expect((await rejection(requester.write(new Uint8Array(1)))).code).toBe('ERR_RDMC_HIPOWER_CLOSED');
    expect(thrown(() => responder.take()).code).toBe('ERR_RDMC_HIPOWER_CLOSED');
    await requester.close();
  });

  it('an abort ends a wait, but not the channel', async () => {
    const [requester, responder] = await openPair({ slots: 1 });
    await requester.write(Uint8Array.of(1));
    const signal = AbortSignal.timeout(20);
    expect((await rejection(requester.write(Uint8Array.of(2), { signal }))).code).toBe('ERR_RDMC_ABORTED');
    expect((await rejection(requester.drain({ signal }))).code).toBe('ERR_RDMC_ABORTED');
    expect(await rejection(requester.hasRoom({ signal }))).toMatchObject({
      name: 'AbortError',
      code: 'ERR_RDMC_ABORTED',
      cause: signal.reason,
    });
    const got: number[] = [];
    const receiving = (async () => {
      for await (const message of responder) {
        got.push(message.bytes[0]!);
        message.release();
      }
      await responder.close();
    })();
    await requester.write(Uint8Array.of(3));
    await Promise.all([requester.end(), receiving]);
    expect(got).toEqual([1, 3]);
  });

  it('a side that closes early: the error of the other says what was consumed', async () => {
    const [requester, responder] = await openPair();
    await requester.write(Uint8Array.of(1));
    await requester.write(Uint8Array.of(2));
    const iterator = responder[Symbol.asyncIterator]();
    (await iterator.next()).value!.release();
    // The first message may be here before the requester's worker has taken the second one.
    await until(() => requester.counters().peers[0]!.delivered === 2);
    await responder.close();
    const error = await rejection(requester.end());
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_CLOSED', memberId: 1 });
    expect(error.progress).toMatchObject([{ memberId: 1, delivered: 2 }]);

    const [other, reader] = await openPair();
    await other.write(Uint8Array.of(1));
    expect(await reader.readable()).toBe(true);
    await other.close();
    const got: number[] = [];
    const failed = rejection(
      (async () => {
        for await (const message of reader) {
          got.push(message.bytes[0]!);
          message.release();
        }
      })(),
    );
    expect(await failed).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_CLOSED', memberId: 0 });
    expect(got).toEqual([1]);
    await reader.close();
  });

  it('a connection that fails repeatedly between living processes: an error after a few generations', async () => {
    const [requester, responder] = await openPair({ slots: 7, slotBytes: 1000 });
    // From now on every WRITE is refused by the responder's device.
    regionOfLength(nodes[1]!.device, 7 * 1024).revoke();
    await requester.write(Uint8Array.of(1));
    const error = await rejection(requester.end());
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_CONNECTION_LOST' });
    expect(error.progress).toMatchObject([{ memberId: 1, delivered: 1, released: 0 }]);
    expect(requester.generation).toBeGreaterThan(3);
    expect((await rejection(responder.readable())).code).toBe('ERR_RDMC_HIPOWER_PEER_CLOSED');
    await responder.close();
  });

  it.each(['pull', 'push'] as const)('an end that announces slots which do not arrive, %s', async (mode) => {
    const slots = 6;
    const [requester, responder] = await openPair({ mode, slots });
    const waiting = rejection(responder.readable());
    // On the requester's board, and at the target of its pushes.
    for (const [node, role, index] of [
      [nodes[0]!, 'requester', BoardIndex.OWN],
      [nodes[1]!, 'responder', BoardIndex.LANDING],
    ] as const) {
      const boards = regionOfLength(node.device, boardsRegionBytes(role, 1));
      writeEnd(boardView(boards.view(), index * BOARD_STRIDE, boardBytes(slots)).header, 3);
    }
    expect((await waiting).code).toBe('ERR_RDMC_HIPOWER_INCOMPLETE');
    await Promise.all([requester.close(), responder.close()]);
  });

  it('a time-out of connecting has the last failure as cause', async () => {
    const cause = new Error('no route');
    const connecting = {
      what: 'It',
      counterpart: 'responder',
      missing: () => [3],
      cause: () => cause,
    } as const;
    const { late } = connectLimits({ timeoutMs: 1, signal: undefined }, connecting);
    const error = late!(1) as Error;
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_TIMEOUT', missing: [3], cause });
    expect(error.message).toContain('no route');
  });

  it('closing between repeated attempts to connect does not end the worker', async () => {
    for (let i = 0; i < 8; i += 1) {
      const slots = 9 + i;
      const [requester, responder] = await openPair({ slots, slotBytes: 1000 });
      regionOfLength(nodes[1]!.device, slots * 1024).revoke();
      await requester.write(Uint8Array.of(1));
      await vi.waitFor(() => expect(requester.generation).toBeGreaterThan(2), LIMIT_MS);
      await requester.close();
      await responder.close();
    }
    const [requester, responder] = await openPair();
    await requester.write(Uint8Array.of(7));
    expect(await responder.readable()).toBe(true);
    await Promise.all([requester.close(), responder.close()]);
  });

  it('a node that leaves fails its channels', async () => {
    const [a, b] = await startCluster(2);
    const options = { channel: 'leaving', slots: 4, slotBytes: 64 };
    const [requester, responder] = await Promise.all([
      a!.createRequester({ ...options, to: 1 }),
      b!.createResponder({ ...options, from: 0 }),
    ]);
    await a!.close();
    expect((await rejection(responder.readable())).code).toMatch(/PEER_(CLOSED|LOST)/);
    expect((await rejection(requester.write(new Uint8Array(1)))).code).toBe('ERR_RDMC_HIPOWER_CLOSED');
    await b!.close();
    const late = b!.createResponder({ ...options, from: 0 });
    expect((await rejection(late)).code).toBe('ERR_RDMC_HIPOWER_NODE_CLOSED');
  });
});
