import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ChannelOptions, HiPowerNode, type Requester, type Responder } from '@rdmc/hipower';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { membersAt } from '@rdmc/testing/members';
import { patient } from '../src/patience.js';
import { deviceOf, EXPENDABLE, losePackets, losePacketsNoMore, lostPackets, WHY_NOT } from './devices.js';
import { RETRY_MS } from './members.js';

const NODES = 4;
const MESSAGES = 120;
const SLOT_BYTES = 256;
/** Empty, around a slot, fragments, and nearly the size of all slots. */
const SIZES = [0, 1, SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1, 5 * SLOT_BYTES, 15 * SLOT_BYTES];
const SHARE = '2%';
const KINDS: readonly Partial<ChannelOptions>[] = [
  { mode: 'push' },
  { mode: 'pull' },
  { confirmation: 'per-request' },
];

/** A node on each device, all in this process. Sides that wait sleep soon: they share few processors. */
async function startNodes(): Promise<HiPowerNode[]> {
  const reserved = await reserveLoopbackPorts(NODES);
  const members = membersAt(reserved);
  const times = { silenceTimeoutMs: patient(10_000), timeoutMs: patient(30_000) };
  return Promise.all(
    reserved.map(({ server }, id) => {
      const device = { device: deviceOf(id) };
      return HiPowerNode.join({ id, members, server, device, windowMs: 0, ...times });
    }),
  );
}

function content(from: number, number: number): Uint8Array {
  return new Uint8Array(SIZES[number % SIZES.length]!).fill(7 * from + number + 1);
}

/** Sends all messages; with a reconnect in the middle if requested. */
async function sendAll(requester: Requester, from: number, reconnects = false): Promise<void> {
  for (let number = 0; number < MESSAGES; number += 1) {
    await requester.write(content(from, number));
    if (reconnects && number === MESSAGES / 2) requester.reconnect();
  }
  await requester.end();
  await requester.close();
}

/** Takes everything until the end: each sender's messages arrive once, in order, and unchanged. */
async function expectAll(responder: Responder, senders: readonly number[]): Promise<void> {
  const counts = new Map(senders.map((id) => [id, 0]));
  for await (const message of responder) {
    const number = counts.get(message.from)!;
    assert.equal(Buffer.compare(message.bytes, content(message.from, number)), 0, `message ${number}`);
    message.release();
    counts.set(message.from, number + 1);
  }
  await responder.close();
  for (const [id, count] of counts) assert.equal(count, MESSAGES, `messages of member ${id}`);
}

export function hipower(): void {
  describe('HiPower between nodes on devices of their own', () => {
    let nodes: HiPowerNode[] = [];
    before(async () => {
      nodes = await startNodes();
    });
    after(async () => {
      for (const node of nodes) await node.close();
    });

    async function run(
      kind: Partial<ChannelOptions>,
      from: readonly number[],
      to: readonly number[],
      reconnects = false,
    ): Promise<void> {
      const options = {
        ...{
          channel: JSON.stringify([kind, from, to, reconnects]),
          slots: 16,
          slotBytes: SLOT_BYTES,
          spinMs: 0,
        },
        ...{ retryTimeoutMs: RETRY_MS, timeoutMs: patient(30_000), ...kind },
      };
      const requesters = Promise.all(from.map((id) => nodes[id]!.createRequester({ ...options, to })));
      const responders = Promise.all(to.map((id) => nodes[id]!.createResponder({ ...options, from })));
      const ends = [
        ...(await requesters).map((requester, i) => sendAll(requester, from[i]!, reconnects)),
        ...(await responders).map((responder) => expectAll(responder, from)),
      ];
      await Promise.all(ends);
    }

    for (const kind of KINDS) {
      const name = Object.values(kind).join();
      it(`one to one, ${name}`, () => run(kind, [0], [1]));
      it(`broadcast to three, ${name}`, () => run(kind, [1], [0, 2, 3]));
      it(`gather from three, ${name}`, () => run(kind, [0, 1, 3], [2]));
      it(`a reconnect in the middle neither loses nor repeats a message, ${name}`, () =>
        run(kind, [3], [0], true));
    }

    const title = `${SHARE} of all packets lost: everything is delivered once, in order, in all modes`;
    it(EXPENDABLE ? title : `${title} [${WHY_NOT}]`, { skip: !EXPENDABLE }, async () => {
      losePackets(SHARE);
      try {
        for (const kind of KINDS) await run({ ...kind, maxIdleMs: 5 }, [1], [0, 2, 3]);
        assert.ok(lostPackets() > 0, 'packets were lost');
      } finally {
        losePacketsNoMore();
      }
    });
  });
}
