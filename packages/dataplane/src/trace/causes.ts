import { TraceKind, TraceProtocol } from './layout.js';
import type { TraceEvent } from './records.js';
import { placeOf, spanAt, type WaitSpan } from './wait-spans.js';

/** What waits come down to. */
export interface Cause {
  /**
   * 'link': a transfer between two members was under way. 'application': a member's application gave no memory yet. 'member':
   * a member had what it needed, or has no trace.
   */
  readonly kind: 'link' | 'application' | 'member';
  /** One member, or the two of a link in ascending order. */
  readonly members: readonly number[];
  /** Nanoseconds, added over all members that waited. */
  readonly ns: number;
  /** Of the waiting of all members, 0 to 1. */
  readonly share: number;
}

type Found = Pick<Cause, 'kind' | 'members'>;

/** Moments of each list of spans at which the cause is looked up. */
const SAMPLES = 2000;

/**
 * Follows waits to their causes. A member that waits for a block that its sender has not sent yet waits for what the sender
 * waits for. Every list of spans is sampled at evenly spaced moments, so that the cost does not depend on how far
 * delays spread.
 *
 * @returns the causes, the largest first
 */
export function causesOf(
  events: readonly TraceEvent[],
  spans: ReadonlyMap<string, readonly WaitSpan[]>,
): Cause[] {
  const sends = sendTimes(events);
  const totals = new Map<string, { readonly found: Found; ns: number }>();
  let all = 0;
  for (const list of spans.values()) {
    const [begin, end] = [list[0]!.from, list.at(-1)!.to];
    const step = (end - begin) / SAMPLES;
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const span = spanAt(list, begin + (sample + 0.5) * step);
      if (!span || span.reason === 'nothing') continue;
      const found = follow(span, begin + (sample + 0.5) * step, spans, sends);
      const name = `${found.kind} ${found.members.join('-')}`;
      const total = totals.get(name) ?? { found, ns: 0 };
      total.ns += step;
      all += step;
      totals.set(name, total);
    }
  }
  const causes = [...totals.values()].map(({ found, ns }) => ({ ...found, ns, share: ns / all }));
  return causes.sort((a, b) => b.ns - a.ns);
}

/** The cause of a wait at one moment. */
function follow(
  first: WaitSpan,
  time: number,
  spans: ReadonlyMap<string, readonly WaitSpan[]>,
  sends: ReadonlyMap<string, number>,
): Found {
  const seen = new Set<number>();
  let span = first;
  for (;;) {
    const { member, reason, peer, protocol, group } = span;
    if (reason === 'application') return { kind: 'application', members: [member] };
    if (peer === null) return { kind: 'member', members: [member] };
    if (reason === 'sent') return linkOf(member, peer);
    if (reason === 'block' && (sends.get(sendName(span, peer, member)) ?? time) < time) {
      return linkOf(member, peer);
    }
    // Two members that wait for each other: what one of them has sent is on its way.
    if (seen.has(peer)) return linkOf(member, peer);
    seen.add(member);
    const next = spanAt(spans.get(placeOf({ member: peer, protocol, group })), time);
    if (!next || next.reason === 'nothing') return { kind: 'member', members: [peer] };
    span = next;
  }
}

function linkOf(a: number, b: number): Found {
  return { kind: 'link', members: a < b ? [a, b] : [b, a] };
}

/** When each block was given to the device of its sender. */
function sendTimes(events: readonly TraceEvent[]): Map<string, number> {
  const sends = new Map<string, number>();
  for (const event of events) {
    if (event.kind !== TraceKind.SEND_STARTED) continue;
    const name = sendName(event, event.member, event.peer);
    if (!sends.has(name)) sends.set(name, event.time);
  }
  return sends;
}

type OneBlock = Pick<TraceEvent, 'protocol' | 'group' | 'message' | 'block'>;

/** A message of a channel is one slot, and its responder does not know which one before it has come. */
function sendName({ protocol, group, message, block }: OneBlock, from: number, to: number): string {
  const part = protocol === TraceProtocol.HIPOWER ? '' : block;
  return `${protocol}/${group}/${message}/${part}/${from}/${to}`;
}
