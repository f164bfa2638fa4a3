import { NONE, TraceKind, type TraceSink } from '@rdmc/dataplane/trace';
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
