import { NONE, TraceKind } from './layout.js';
import type { TraceEvent } from './records.js';
import { waitSpans } from './wait-spans.js';

/** The row of a member that a span belongs to. */
export type Track = 'wait' | 'message' | 'send' | 'receive' | 'sleep';

/** Something that lasted, at one member. Fields without a value are null. */
export interface TimelineSpan {
  /** The kind of span. */
  readonly track: Track;
  /** Id of the member. */
  readonly member: number;
  /** A number of `TraceProtocol`. */
  readonly protocol: number;
  /** Id of the group, channel or log. */
  readonly group: number;
  /** The beginning, in nanoseconds of the trace's clock. */
  readonly from: number;
  /** The end. */
  readonly to: number;
  /** Number of the message. */
  readonly message: number | null;
  /** Number of the block. */
  readonly block: number | null;
  /** Id of the other member. */
  readonly peer: number | null;
  /** Of 'wait': what for. Else the track. */
  readonly what: string;
}

/** How a kind of record begins or ends a span. */
interface Rule {
  readonly track: Track;
  readonly begins: boolean;
}

const RULES = new Map<number, Rule>([
  [TraceKind.BEGAN, { track: 'message', begins: true }],
  [TraceKind.FINISHED, { track: 'message', begins: false }],
  [TraceKind.SEND_STARTED, { track: 'send', begins: true }],
  [TraceKind.SEND_FINISHED, { track: 'send', begins: false }],
  [TraceKind.SLEEP, { track: 'sleep', begins: true }],
  [TraceKind.WAKE_UP, { track: 'sleep', begins: false }],
]);

/**
 * The spans of a trace, in the order of their beginnings: waits, messages, sends until their completion, receives since
 * the send began, and sleep. What the trace does not see end is left out.
 */
export function timeline(events: readonly TraceEvent[]): TimelineSpan[] {
  const spans = [...paired(events), ...receives(events)];
  for (const list of waitSpans(events).values()) {
    for (const span of list) {
      if (span.reason === 'nothing') continue;
      const { member, protocol, group, from, to, peer, reason: what } = span;
      const of = { message: known(span.message), block: known(span.block) };
      spans.push({ track: 'wait', member, protocol, group, from, to, ...of, peer, what });
    }
  }
  return spans.sort((a, b) => a.from - b.from);
}

function paired(events: readonly TraceEvent[]): TimelineSpan[] {
  const spans: TimelineSpan[] = [];
  const open = new Map<string, TraceEvent>();
  for (const event of events) {
    const rule = RULES.get(event.kind);
    if (!rule) continue;
    const { member, protocol, group, message, peer } = event;
    // BEGAN has a number of blocks, FINISHED has not.
    const block = rule.track === 'message' ? NONE : event.block;
    const name = `${rule.track}/${member}/${protocol}/${group}/${message}/${block}/${peer}`;
    if (rule.begins) open.set(name, event);
    else {
      const begun = open.get(name);
      open.delete(name);
      if (begun) spans.push(spanOf(rule.track, event, begun.time, block));
    }
  }
  return spans;
}

/** From the sender's record, if the trace has it; else without a length. */
function receives(events: readonly TraceEvent[]): TimelineSpan[] {
  const sent = new Map<string, number>();
  const nameOf = (event: TraceEvent, from: number, to: number): string =>
    `${event.protocol}/${event.group}/${event.message}/${event.block}/${from}/${to}`;
  for (const event of events) {
    if (event.kind !== TraceKind.SEND_STARTED) continue;
    sent.set(nameOf(event, event.member, event.peer), event.time);
  }
  return events
    .filter(({ kind }) => kind === TraceKind.RECEIVED)
    .map((event) => {
      const begun = sent.get(nameOf(event, event.peer, event.member)) ?? event.time;
      return spanOf('receive', event, Math.min(begun, event.time), event.block);
    });
}

function spanOf(track: Track, end: TraceEvent, from: number, block: number): TimelineSpan {
  const { member, protocol, group, time: to } = end;
  const of = { message: known(end.message), block: known(block), peer: known(end.peer) };
  return { track, member, protocol, group, from, to, ...of, what: track };
}

function known(value: number): number | null {
  return value === NONE ? null : value;
}
