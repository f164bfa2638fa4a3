import { NONE, TraceKind } from './layout.js';
import type { TraceEvent } from './records.js';

/** What a member waits for. `nothing`: it has no message, or it has work. */
export type WaitReason = 'nothing' | 'block' | 'ready' | 'sent' | 'application';

/** A time in which one member waits for one thing, in one group, channel or log. */
export interface WaitSpan {
  /** Id of the member that waits. */
  readonly member: number;
  /** A number of `TraceProtocol`. */
  readonly protocol: number;
  /** Id of the group, channel or log. */
  readonly group: number;
  /** The beginning, in nanoseconds of the trace's clock. */
  readonly from: number;
  /** The end. */
  readonly to: number;
  /** What it waits for. */
  readonly reason: WaitReason;
  /** Number of the message, or `NONE`. */
  readonly message: number;
  /** Number of the block, or `NONE`. */
  readonly block: number;
  /** The member that it waits for; null for 'nothing' and 'application'. */
  readonly peer: number | null;
}

const REASONS = new Map<number, WaitReason>([
  [TraceKind.WAITS_FOR_NOTHING, 'nothing'],
  [TraceKind.WAITS_FOR_BLOCK, 'block'],
  [TraceKind.WAITS_FOR_READY, 'ready'],
  [TraceKind.WAITS_FOR_SENT, 'sent'],
  [TraceKind.WAITS_FOR_APPLICATION, 'application'],
]);

/** The member, protocol and group of a record, as a key. */
export function placeOf({
  member,
  protocol,
  group,
}: Pick<TraceEvent, 'member' | 'protocol' | 'group'>): string {
  return `${member}/${protocol}/${group}`;
}

/**
 * The spans of all members by `placeOf`, each list in the order of time and without gaps. The last wait ends with
 * the last record of the trace.
 */
export function waitSpans(events: readonly TraceEvent[]): Map<string, WaitSpan[]> {
  const spans = new Map<string, WaitSpan[]>();
  const open = new Map<string, TraceEvent>();
  let last = 0;
  for (const event of events) {
    if (event.time > last) last = event.time;
    if (!REASONS.has(event.kind)) continue;
    const place = placeOf(event);
    close(spans, open.get(place), event.time, place);
    open.set(place, event);
  }
  for (const [place, event] of open) close(spans, event, last, place);
  return spans;
}

function close(
  spans: Map<string, WaitSpan[]>,
  begun: TraceEvent | undefined,
  to: number,
  place: string,
): void {
  if (!begun || to <= begun.time) return;
  const { member, protocol, group, message, block, peer } = begun;
  const list = spans.get(place) ?? [];
  list.push({
    ...{ member, protocol, group, message, block },
    from: begun.time,
    to,
    reason: REASONS.get(begun.kind)!,
    peer: peer === NONE ? null : peer,
  });
  spans.set(place, list);
}

/** The span at a moment; undefined before the first and after the last one. */
export function spanAt(spans: readonly WaitSpan[] | undefined, time: number): WaitSpan | undefined {
  let low = 0;
  let high = spans?.length ?? 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans![middle]!.to <= time) low = middle + 1;
    else high = middle;
  }
  const span = spans?.[low];
  return span && span.from <= time ? span : undefined;
}
