import type { ChannelOptions, HiPowerNode, Message, Requester, Responder } from '@rdmc/hipower';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deviceOver, startCluster, stopCluster, TRANSPORTS } from './support/cluster.js';

type Kind = Pick<ChannelOptions, 'mode' | 'confirmation' | 'pushAfterCompletion'>;
const KINDS: readonly Kind[] = [
  { mode: 'pull' },
  { mode: 'push' },
  { mode: 'push', pushAfterCompletion: true },
  { confirmation: 'per-request' },
];
/** The driver of the worker's side of the protocol. */
const THREADS = ['worker', 'application'] as const;
/** Here the application's thread has one transport and the two modes; `npm run test:long` runs all tests with it. */
const runsHere = (transport: string, { pushAfterCompletion, confirmation }: Kind): boolean =>
  transport === TRANSPORTS[0] && !pushAfterCompletion && !confirmation;
const PAIRS = TRANSPORTS.flatMap((transport) =>
  KINDS.flatMap((kind) =>
    THREADS.filter((thread) => thread === 'worker' || runsHere(transport, kind)).map((thread) => {
      return { transport, kind, thread, name: JSON.stringify(kind) };
    }),
  ),
);

/** Content that distinguishes messages of any length. */
function content(number: number, byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  for (let i = 0; i < byteLength; i += 1) bytes[i] = (number * 31 + i * 7) >>> ((i & 3) * 2);
  return bytes;
}

async function sendAll(requester: Requester, sizes: readonly number[]): Promise<void> {
  for (const [number, size] of sizes.entries()) await requester.write(content(number, size));
  await requester.end();
}

/** Each message has the size and the content that its number says. Vitest compares arrays of bytes ten times as slowly. */
function expectContents(messages: readonly Uint8Array[], sizes: readonly number[]): void {
  expect(messages.length).toBe(sizes.length);
  const wrong = messages.findIndex((bytes, i) => Buffer.compare(bytes, content(i, sizes[i]!)) !== 0);
  expect(wrong, `message ${wrong} differs`).toBe(-1);
}

/** All messages of a responder until the end, per sender. */
async function receiveAll(responder: Responder): Promise<Map<number, Uint8Array[]>> {
  const received = new Map<number, Uint8Array[]>();
  for await (const message of responder) {
    const list = received.get(message.from) ?? [];
    list.push(message.bytes.slice());
    received.set(message.from, list);
    message.release();
  }
  await responder.close();
  return received;
}

let channelNumber = 0;
function common(kind: Kind, more: Partial<ChannelOptions> = {}): ChannelOptions {
  channelNumber += 1;
  return { channel: `test ${channelNumber}`, slots: 8, slotBytes: 64, ...kind, ...more };
}

describe.each(PAIRS)(
  'a channel over $transport, driven in the $thread, $name',
  ({ transport, kind, thread }) => {
    let nodes: HiPowerNode[];
    beforeAll(async () => {
      nodes = await startCluster(3, { device: deviceOver(transport), thread });
    });
    afterAll(() => stopCluster(nodes));

    it('delivers messages of every size once, in order: empty, whole slots, fragments, all slots', async () => {
      const options = common(kind);
      const edges = [0, 1, 7, 8, 63, 64, 65, 128, 129, 8 * 64];
      const sizes = Array.from({ length: 300 }, (_, i) => edges[i % edges.length]!);
      const [requester, responder] = await Promise.all([
        nodes[0]!.createRequester({ ...options, to: 1 }),
        nodes[1]!.createResponder({ ...options, from: 0 }),
      ]);
      const [received] = await Promise.all([receiveAll(responder), sendAll(requester, sizes)]);
      expectContents(received.get(0)!, sizes);
      if (transport !== 'auto')
        expect([...requester.transports, ...responder.transports]).toEqual([transport, transport]);
    });

    it('works with one slot, and with more than a push carries inline', async () => {
      for (const slots of [1, 33, 1000]) {
        const options = common(kind, { slots });
        const sizes = Array.from({ length: 300 + slots }, (_, i) => i % 65);
        const [requester, responder] = await Promise.all([
          nodes[0]!.createRequester({ ...options, to: 1 }),
          nodes[1]!.createResponder({ ...options, from: 0 }),
        ]);
        const [received] = await Promise.all([receiveAll(responder), sendAll(requester, sizes)]);
        expectContents(received.get(0)!, sizes);
      }
    });

    it('broadcasts to several responders', async () => {
      const options = common(kind);
      const sizes = Array.from({ length: 150 }, (_, i) => (i * 13) % 200);
      const [requester, ...responders] = await Promise.all([
        nodes[0]!.createRequester({ ...options, to: [1, 2] }),
        nodes[1]!.createResponder({ ...options, from: 0 }),
        nodes[2]!.createResponder({ ...options, from: 0 }),
      ]);
      const [, ...all] = await Promise.all([sendAll(requester, sizes), ...responders.map(receiveAll)]);
      for (const received of all) expectContents(received.get(0)!, sizes);
    });

    it('gathers from several requesters, each in its own order', async () => {
      const options = common(kind);
      const sizes = Array.from({ length: 150 }, (_, i) => (i * 17) % 200);
      const [responder, ...requesters] = await Promise.all([
        nodes[0]!.createResponder({ ...options, from: [1, 2] }),
        nodes[1]!.createRequester({ ...options, to: 0 }),
        nodes[2]!.createRequester({ ...options, to: 0 }),
      ]);
      const [received] = await Promise.all([
        receiveAll(responder),
        ...requesters.map((one) => sendAll(one, sizes)),
      ]);
      for (const from of [1, 2]) expectContents(received.get(from)!, sizes);
    });

    it('gives views in place that stay until they are released, in any order, and makes the requester wait', async () => {
      const options = common(kind, { slots: 4 });
      const [requester, responder] = await Promise.all([
        nodes[0]!.createRequester({ ...options, to: 1 }),
        nodes[1]!.createResponder({ ...options, from: 0 }),
      ]);
      for (let i = 0; i < 4; i += 1) await requester.write(content(i, 40));
      expect(requester.tryWrite(content(4, 40))).toBe(false);
      const held: Message[] = [];
      const iterator = responder[Symbol.asyncIterator]();
      for (let i = 0; i < 4; i += 1) held.push((await iterator.next()).value as Message);
      const isPlaced = held.every(({ bytes }) => bytes.buffer === responder.memory.buffer);
      expect(isPlaced).toBe(true);

      held[2]!.release();
      await requester.write(content(4, 40));
      const fifth = (await iterator.next()).value as Message;
      expect(fifth.bytes).toEqual(content(4, 40));
      for (const i of [0, 1, 3]) expect(held[i]!.bytes, `held ${i}`).toEqual(content(i, 40));
      for (const message of [held[3]!, held[0]!, fifth, held[1]!]) message.release();

      await requester.drain();
      expect(requester.room).toBe(4);
      const [, last] = await Promise.all([requester.end(), iterator.next()]);
      expect(last.done).toBe(true);
      await responder.close();
    });

    it('continues after a reconnect in a new generation: no message is lost or delivered twice', async () => {
      const options = common(kind, { slots: 16 });
      const sizes = Array.from({ length: 800 }, (_, i) => (i * 11) % 150);
      const [requester, responder] = await Promise.all([
        nodes[0]!.createRequester({ ...options, to: 1 }),
        nodes[1]!.createResponder({ ...options, from: 0 }),
      ]);
      let heldBack: Message | undefined;
      const received: Uint8Array[] = [];
      const receiving = (async () => {
        for await (const message of responder) {
          received.push(message.bytes.slice());
          if (received.length % 100 === 50) requester.reconnect();
          // One message is held during the next reconnects, and released in a later generation.
          if (received.length % 130 === 0) {
            heldBack?.release();
            heldBack = message;
          } else message.release();
        }
        heldBack?.release();
        await responder.close();
      })();
      await Promise.all([receiving, sendAll(requester, sizes)]);
      expectContents(received, sizes);
      expect(requester.generation).toBeGreaterThan(3);
    });

    it('confirms batches with few bitmap reads, or each slot by itself', async () => {
      const options = common(kind, { slots: 64 });
      const [requester, responder] = await Promise.all([
        nodes[0]!.createRequester({ ...options, to: 1 }),
        nodes[1]!.createResponder({ ...options, from: 0 }),
      ]);
      const count = 1000;
      const sizes = Array.from({ length: count }, () => 64);
      const sending = (async () => {
        for (const [number, size] of sizes.entries()) await requester.write(content(number, size));
        // At the end a responder may leave without confirming the last slots one by one.
        await requester.drain();
        await requester.end();
      })();
      await Promise.all([receiveAll(responder), sending]);
      const { slots, reads, pushes, looks, confirmations } = requester.counters();
      const other = responder.counters();
      expect([slots, other.slots]).toEqual([count, count]);
      expect(requester.generation).toBe(1);
      expect([requester, responder].map((end) => end.counters().peers[0]!.released)).toEqual([count, count]);
      if (kind.confirmation) {
        expect([reads, pushes, other.reads]).toEqual([0, 0, 0]);
        expect([confirmations, other.confirmations]).toEqual([count, 2 * count]);
      } else {
        expect([confirmations, other.confirmations, looks]).toEqual([0, 0, 0]);
        expect(kind.mode === 'push' ? [pushes > 0, other.reads] : [other.reads > 0, pushes]).toEqual([
          true,
          0,
        ]);
      }
    });
  },
);
