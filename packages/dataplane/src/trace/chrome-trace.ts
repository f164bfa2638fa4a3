import type { TraceEvent } from './records.js';
import { timeline } from './timeline.js';

/** An event of Chrome's trace format. */
export interface ChromeEvent {
  /** 'X' has a duration, 'M' names a process or a thread. */
  readonly ph: 'X' | 'M';
  /** What a viewer writes into the span; of 'M' what is named. */
  readonly name: string;
  /** The member. */
  readonly pid: number;
  /** The kind of span: its row in the member's part. */
  readonly tid: number;
  /** Of 'X': the beginning, in microseconds. */
  readonly ts?: number;
  /** Of 'X': the length, in microseconds. */
  readonly dur?: number;
  /** Of 'X': the track. */
  readonly cat?: string;
  /** Of 'X': group, message, block and peer. Of 'M': the name. */
  readonly args: Readonly<Record<string, string | number | null>>;
}

const TRACKS = ['wait', 'message', 'send', 'receive', 'sleep'] as const;

/**
 * A trace in Chrome's trace format, which Perfetto (ui.perfetto.dev) and about:tracing read: a process for each member,
 * a thread for each kind of span. Times begin with the first span. Write the result as JSON.
 */
export function chromeTrace(events: readonly TraceEvent[]): { readonly traceEvents: readonly ChromeEvent[] } {
  const spans = timeline(events);
  const zero = spans[0]?.from ?? 0;
  const members = [...new Set(spans.map(({ member }) => member))].sort((a, b) => a - b);
  const names = members.flatMap((pid): ChromeEvent[] => [
    { ph: 'M', name: 'process_name', pid, tid: 0, args: { name: `member ${pid}` } },
    ...TRACKS.map((name, tid): ChromeEvent => ({ ph: 'M', name: 'thread_name', pid, tid, args: { name } })),
  ]);
  const timed = spans.map(({ track, member, from, to, what, group, message, block, peer }): ChromeEvent => {
    const ts = (from - zero) / 1000;
    const args = { group, message, block, peer };
    const tid = TRACKS.indexOf(track);
    const name =
      track === 'wait' ? `${what}${peer === null ? '' : ` of ${peer}`}` : nameOf(what, block, peer);
    return { ph: 'X', cat: track, name, pid: member, tid, ts, dur: (to - from) / 1000, args };
  });
  return { traceEvents: [...names, ...timed] };
}

function nameOf(what: string, block: number | null, peer: number | null): string {
  if (block === null) return what;
  return what === 'send' ? `block ${block} to ${peer}` : `block ${block} from ${peer}`;
}
