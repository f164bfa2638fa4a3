import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  decodeTrace,
  NONE,
  TraceFile,
  TraceKind,
  TraceProtocol,
  type TraceSink,
} from '@rdmc/dataplane/trace';
import { HiPowerNode } from '@rdmc/hipower';
import { temporaryDirectory, until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import type { ChannelSetup, Role } from '../src/records.js';
import { ChannelTrace } from '../src/worker/channel-trace.js';

function tracing(role: Role) {
  const put: (readonly number[])[] = [];
  const sink: TraceSink = { put: ({ group }, ...record) => put.push([group, ...record]) };
  const setup = { role, slots: 4, traced: { channel: 9, peers: [20, 30] } };
  return { put, trace: new ChannelTrace(sink, setup as unknown as ChannelSetup) };
}

it('a requester waits for the responder that holds the most slots', () => {
  const { put, trace } = tracing('requester');
  trace.waits(false);
  trace.written(3, 0);
  trace.written(1, 1);
  trace.released(3, 0);
  trace.waits(true);
  trace.waits(true);
  trace.released(3, 1);
  trace.waits(false);
  const k = TraceKind;
  expect(put).toEqual([
    [9, k.SEND_STARTED, 0, 3, 20],
    [9, k.SEND_STARTED, 0, 3, 30],
    [9, k.SEND_STARTED, 1, 1, 20],
    [9, k.SEND_STARTED, 1, 1, 30],
    [9, k.SEND_FINISHED, 0, 3, 20],
    [9, k.WAITS_FOR_READY, NONE, NONE, 30],
    [9, k.SEND_FINISHED, 0, 3, 30],
    [9, k.WAITS_FOR_NOTHING, NONE, NONE, NONE],
  ]);
});

it('a responder counts the slots of each requester', () => {
  const { put, trace } = tracing('responder');
  trace.delivered(2, 0);
  trace.delivered(0, 1);
  trace.delivered(1, 0);
  expect(put).toEqual([
    [9, TraceKind.RECEIVED, 0, 2, 20],
    [9, TraceKind.RECEIVED, 0, 0, 30],
    [9, TraceKind.RECEIVED, 1, 1, 20],
  ]);
});

it('a responder waits for the requester that has sent the fewest, of those that have not ended', () => {
  const { put, trace } = tracing('responder');
  const link = (finished = false, running = true) => ({ running, finished });
  trace.awaits([]);
  trace.awaits([link(), link()]);
  trace.delivered(2, 0);
  trace.awaits([link(), link()]);
  trace.awaits([link(), link()]);
  trace.awaits([link(), link(true)]);
  trace.awaits([link(false, false), link(true)]);
  const k = TraceKind;
  expect(put).toEqual([
    [9, k.WAITS_FOR_BLOCK, 0, NONE, 20],
    [9, k.RECEIVED, 0, 2, 20],
    [9, k.WAITS_FOR_BLOCK, 0, NONE, 30],
    [9, k.WAITS_FOR_BLOCK, 1, NONE, 20],
    [9, k.WAITS_FOR_NOTHING, NONE, NONE, NONE],
  ]);
});

it('a channel of two nodes records the same slots at both ends', async () => {
  const path = join(temporaryDirectory(), 'channel.trace');
  const trace = await TraceFile.create(path);
  const nodes = await HiPowerNode.loopback(2, { windowMs: 0, trace });
  const [requester, responder] = await Promise.all([
    nodes[0]!.createRequester({ channel: 'a', to: 1 }),
    nodes[1]!.createResponder({ channel: 'a', from: 0 }),
  ]);
  for (let i = 0; i < 5; i += 1) await requester.write(new Uint8Array(10));
  let taken = 0;
  const reading = (async () => {
    for await (const message of responder) {
      message.release();
      taken += 1;
    }
  })();
  await until(() => taken === 5);
  // A whole turn in which there is nothing to read.
  const { looks } = responder.counters();
  await until(() => responder.counters().looks > looks + 1);
  await Promise.all([requester.end(), reading]);
  await responder.close();
  await nodes.close();
  await trace.close();
  const { events } = decodeTrace(await readFile(path));
  const slots = (kind: number) =>
    events
      .filter((event) => event.protocol === TraceProtocol.HIPOWER && event.kind === kind)
      .map(({ member, peer, group, message, block }) => ({ pair: [member, peer], group, message, block }));
  const sent = slots(TraceKind.SEND_STARTED);
  expect(sent.map(({ pair, message }) => [pair, message])).toEqual([0, 1, 2, 3, 4].map((i) => [[0, 1], i]));
  expect(slots(TraceKind.RECEIVED)).toEqual(sent.map((each) => ({ ...each, pair: [1, 0] })));
  const isWait = ({ kind, member, protocol }: (typeof events)[number]) =>
    kind >= TraceKind.WAITS_FOR_NOTHING && member === 1 && protocol === TraceProtocol.HIPOWER;
  const waits = events.filter(isWait);
  const last = { kind: TraceKind.WAITS_FOR_BLOCK, message: 5, block: NONE, peer: 0 };
  expect(waits).toContainEqual(expect.objectContaining(last));
  expect(waits.at(-1)!.kind).toBe(TraceKind.WAITS_FOR_NOTHING);
});
