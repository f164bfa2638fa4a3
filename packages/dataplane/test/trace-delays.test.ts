import {
  alignTraces,
  chromeTrace,
  NONE,
  SIMULATED_CLOCK,
  summarise,
  type TraceEvent,
  TraceKind,
  type TraceKindNumber,
  TraceProtocol,
  timeline,
} from '@rdmc/dataplane/trace';
import { thrown } from '@rdmc/testing';
import { expect, it } from 'vitest';

const MS = 1e6;

/** Records of one group, in the order of time; times in milliseconds. */
class Script {
  readonly events: TraceEvent[] = [];

  at(ms: number, member: number, kind: TraceKindNumber, block = NONE, peer = NONE, message = 0): this {
    this.events.push({ time: ms * MS, member, kind, protocol: 1, group: 5, message, block, peer });
    return this;
  }
}

/**
 * 0 sends two blocks to 1, which relays them to 2. The link between 0 and 1 needs 10 ms for a block, that between 1 and 2
 * needs 1 ms. Member 2 waits for 1, but 1 is not slow.
 */
function relayed(): TraceEvent[] {
  const k = TraceKind;
  return new Script()
    .at(0, 0, k.BEGAN, 2)
    .at(0, 0, k.SEND_STARTED, 0, 1)
    .at(0, 0, k.WAITS_FOR_SENT, 0, 1)
    .at(0, 1, k.WAITS_FOR_BLOCK, 0, 0)
    .at(0, 2, k.WAITS_FOR_BLOCK, 0, 1)
    .at(10, 1, k.RECEIVED, 0, 0)
    .at(10, 1, k.SEND_STARTED, 0, 2)
    .at(10, 1, k.WAITS_FOR_BLOCK, 1, 0)
    .at(10, 0, k.SEND_FINISHED, 0, 1)
    .at(10, 0, k.SEND_STARTED, 1, 1)
    .at(11, 2, k.RECEIVED, 0, 1)
    .at(11, 2, k.WAITS_FOR_BLOCK, 1, 1)
    .at(20, 1, k.RECEIVED, 1, 0)
    .at(20, 1, k.SEND_STARTED, 1, 2)
    .at(20, 1, k.WAITS_FOR_SENT, 1, 2)
    .at(20, 0, k.SEND_FINISHED, 1, 1)
    .at(20, 0, k.FINISHED)
    .at(20, 0, k.WAITS_FOR_NOTHING)
    .at(21, 2, k.RECEIVED, 1, 1)
    .at(21, 2, k.WAITS_FOR_NOTHING)
    .at(21, 1, k.WAITS_FOR_NOTHING).events;
}

it('names the link that all wait for, not the member that relays', () => {
  const { members, causes, slowest, skews, ns } = summarise(relayed());
  expect(ns).toBe(21 * MS);
  expect(members.map(({ member, waitingNs, waits }) => [member, waitingNs / MS, waits])).toEqual([
    [0, 20, [{ reason: 'sent', peer: 1, ns: 20 * MS, share: 1 }]],
    [
      1,
      21,
      [
        { reason: 'block', peer: 0, ns: 20 * MS, share: 20 / 21 },
        { reason: 'sent', peer: 2, ns: 1 * MS, share: 1 / 21 },
      ],
    ],
    [2, 21, [{ reason: 'block', peer: 1, ns: 21 * MS, share: 1 }]],
  ]);
  expect(causes.map(({ kind, members }) => [kind, members])).toEqual([
    ['link', [0, 1]],
    ['link', [1, 2]],
  ]);
  // 0 waits for 20 ms, 1 for 20 of 21 ms, 2 for 19 of 21 ms.
  expect(causes[0]!.share).toBeCloseTo(59 / 62, 2);
  expect(slowest).toEqual({ members: [0, 1], share: causes[0]!.share });
  expect(skews).toEqual([{ group: 5, message: 0, first: 1, last: 2, ns: 1 * MS }]);
});

it('puts a late announcement down to the application behind it', () => {
  const k = TraceKind;
  const { events } = new Script()
    .at(0, 0, k.WAITS_FOR_READY, 1, 1)
    .at(0, 2, k.WAITS_FOR_BLOCK, 1, 0)
    .at(0, 1, k.WAITS_FOR_APPLICATION)
    .at(30, 1, k.PLACED)
    .at(30, 1, k.WAITS_FOR_NOTHING)
    .at(30, 0, k.WAITS_FOR_NOTHING)
    .at(30, 2, k.WAITS_FOR_NOTHING);
  const { causes, slowest } = summarise(events);
  expect(causes).toEqual([{ kind: 'application', members: [1], ns: expect.closeTo(90 * MS, 0), share: 1 }]);
  expect(slowest).toEqual({ members: [1], share: 1 });
});

it('names a member whose links are all slow', () => {
  const k = TraceKind;
  const script = new Script();
  for (const [peer, from] of [
    [0, 0],
    [2, 10],
    [3, 20],
  ] as const) {
    script.at(from, 1, k.WAITS_FOR_SENT, 0, peer).at(from, peer, k.WAITS_FOR_SENT, 0, 1);
    script.at(from + 10, peer, k.WAITS_FOR_NOTHING);
  }
  const { slowest } = summarise(script.at(30, 1, k.WAITS_FOR_NOTHING).events);
  expect(slowest).toEqual({ members: [1], share: expect.closeTo(1, 5) });
});

it('a trace without waits names nobody', () => {
  expect(summarise([])).toEqual({ ns: 0, records: 0, members: [], causes: [], slowest: null, skews: [] });
});

it('draws spans, also in the trace format of Chrome', () => {
  const spans = timeline(relayed()).filter(({ member }) => member === 2);
  expect(spans.map(({ track, from, to, block, peer }) => [track, from / MS, to / MS, block, peer])).toEqual([
    ['wait', 0, 11, 0, 1],
    ['receive', 10, 11, 0, 1],
    ['wait', 11, 21, 1, 1],
    ['receive', 20, 21, 1, 1],
  ]);
  const { traceEvents } = chromeTrace(relayed());
  expect(traceEvents.filter(({ pid }) => pid === 2).slice(-2)).toEqual([
    {
      ...{ ph: 'X', cat: 'wait', name: 'block of 1', pid: 2, tid: 0, ts: 11_000, dur: 10_000 },
      args: { group: 5, message: 0, block: 1, peer: 1 },
    },
    {
      ...{ ph: 'X', cat: 'receive', name: 'block 1 from 1', pid: 2, tid: 3, ts: 20_000, dur: 1000 },
      args: { group: 5, message: 0, block: 1, peer: 1 },
    },
  ]);
});

const HOST = { wallMs: 0, clockNs: 0, dropped: 0, isCut: false };

it('finds the offset of two clocks from what their members sent each other', () => {
  const all = relayed().concat(
    new Script().at(22, 1, TraceKind.ANNOUNCED, 8, 0).at(22.5, 0, TraceKind.READY, 8, 1).events,
  );
  const shift = 5000 * MS;
  const here = all.filter(({ member }) => member === 0);
  const there = all
    .filter(({ member }) => member !== 0)
    .map((each) => ({ ...each, time: each.time + shift }));
  const { alignments, events } = alignTraces([
    { ...HOST, clock: 'a1', host: 'a', events: here },
    { ...HOST, clock: 'b2', host: 'b', events: there },
  ]);
  expect(alignments[0]).toEqual({ host: 'a', offsetNs: 0, errorNs: 0 });
  // The block took 10 ms, the announcement 0.5 ms: the middle is 4.75 ms off, within the error.
  expect(alignments[1]).toEqual({ host: 'b', offsetNs: -shift - 4.75 * MS, errorNs: 5.25 * MS });
  expect(events.map(({ time }) => time)).toEqual(events.map(({ time }) => time).sort((a, b) => a - b));
});

it('compares hosts that sent each other nothing by their wall clocks, and says that it did', () => {
  const { alignments } = alignTraces([
    { ...HOST, clock: 'a1', host: 'a', events: [], wallMs: 10_000, clockNs: 7 * MS },
    { ...HOST, clock: 'b2', host: 'b', events: [], wallMs: 10_002, clockNs: 4 * MS },
  ]);
  expect(alignments[1]).toEqual({ host: 'b', offsetNs: 5 * MS, errorNs: null });
});

it('refuses a simulation beside another trace', () => {
  const trace = { ...HOST, clock: SIMULATED_CLOCK, host: 'simulation', events: [] };
  expect(thrown(() => alignTraces([trace, { ...trace, clock: 'b2' }]))).toMatchObject({
    code: 'ERR_RDMC_INVALID_TRACE',
  });
});

it('leaves out a record that names no member: a file can have any bytes', () => {
  const script = new Script().at(0, 0, TraceKind.SEND_FINISHED, 0, 1).at(1, NONE, TraceKind.RECEIVED, 0, 0);
  expect(summarise(script.events).members).toMatchObject([{ member: 0, blocksSent: 1, blocksReceived: 0 }]);
});

it('a responder of a channel waits for its requester, then for the link', () => {
  const k = TraceKind;
  const { events } = new Script()
    .at(0, 1, k.WAITS_FOR_BLOCK, NONE, 0)
    .at(10, 0, k.SEND_STARTED, 7, 1)
    .at(20, 1, k.RECEIVED, 7, 0)
    .at(20, 1, k.WAITS_FOR_NOTHING);
  const ofChannel = events.map((event) => ({ ...event, protocol: TraceProtocol.HIPOWER }));
  expect(summarise(ofChannel).causes.map(({ kind, members, share }) => [kind, members, share])).toEqual([
    ['member', [0], expect.closeTo(0.5, 2)],
    ['link', [0, 1], expect.closeTo(0.5, 2)],
  ]);
});
