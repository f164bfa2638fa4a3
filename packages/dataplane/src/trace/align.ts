import { DataPlaneError } from '../errors.js';
import { SIMULATED_CLOCK } from './file-header.js';
import { TraceKind } from './layout.js';
import type { Trace } from './read-trace.js';
import type { TraceEvent } from './records.js';

/** A trace whose clock was compared with that of the first one. */
export interface Alignment {
  /** The host that wrote the trace. */
  readonly host: string;
  /** Added to the times of this trace, in nanoseconds. */
  readonly offsetNs: number;
  /** The offset is at most this much wrong, in nanoseconds. 0 on the same clock; null if only the hosts' wall clocks are known. */
  readonly errorNs: number | null;
}

/** Traces of one or several hosts on the clock of the first one. */
export interface AlignedTrace {
  /** In the order of time. */
  readonly events: readonly TraceEvent[];
  /** In the order of the traces. */
  readonly alignments: readonly Alignment[];
}

/** The least delay that was seen between two clocks, in both directions: with the unknown offset inside. */
type LeastDelays = Map<string, number>;

/**
 * Puts traces on one clock. Clocks of different hosts are compared by what their members sent each other: a block, or an
 * announcement, arrives after it was sent. That bounds the offset from both sides; the middle is taken, and half of the
 * distance is the error. Clocks that drift apart during the trace add to it: bounds that contradict each other then
 * count as an error of the size of the contradiction.
 *
 * @throws DataPlaneError ERR_RDMC_INVALID_TRACE for a trace of a simulation beside another one
 */
export function alignTraces(traces: readonly Trace[]): AlignedTrace {
  const clocks = new Map<string, number>();
  const clockOf = traces.map(({ clock, host }, index) => {
    if (clock === SIMULATED_CLOCK && traces.length > 1) throw simulatedError(host);
    if (!clocks.has(clock)) clocks.set(clock, index);
    return clocks.get(clock)!;
  });
  const delays = leastDelays(traces, clockOf);
  const known = new Map<number, { offset: number; error: number }>([[clockOf[0]!, { offset: 0, error: 0 }]]);
  spread(known, delays, new Set(clockOf));
  const alignments = traces.map((trace, index): Alignment => {
    const found = known.get(clockOf[index]!);
    if (found) return { host: trace.host, offsetNs: found.offset, errorNs: found.error };
    return { host: trace.host, offsetNs: wallOffset(traces[0]!, trace), errorNs: null };
  });
  const events = traces.flatMap((trace, index) => {
    const { offsetNs } = alignments[index]!;
    return trace.events.map((event) => ({ ...event, time: event.time + offsetNs }));
  });
  return { events: events.sort((a, b) => a.time - b.time), alignments };
}

function simulatedError(host: string): DataPlaneError {
  return new DataPlaneError(
    'ERR_RDMC_INVALID_TRACE',
    `a trace of a simulation (${host}) does not fit beside others: its clock is not theirs; open it by itself`,
  );
}

/** From a clock with a known offset to those that it is compared with. */
function spread(
  known: Map<number, { offset: number; error: number }>,
  delays: LeastDelays,
  clocks: ReadonlySet<number>,
): void {
  for (const [clock, { offset, error }] of known) {
    for (const other of clocks) {
      const there = delays.get(`${clock}>${other}`);
      const back = delays.get(`${other}>${clock}`);
      if (known.has(other) || there === undefined || back === undefined) continue;
      // there = delay + (other − clock), back = delay − (other − clock); each delay is at least 0.
      known.set(other, { offset: offset - (there - back) / 2, error: error + Math.abs(there + back) / 2 });
    }
  }
}

const SENT = new Map<number, number>([
  [TraceKind.SEND_STARTED, TraceKind.RECEIVED],
  [TraceKind.ANNOUNCED, TraceKind.READY],
]);
const ARRIVED = new Set(SENT.values());

function leastDelays(traces: readonly Trace[], clockOf: readonly number[]): LeastDelays {
  const sent = new Map<string, { time: number; clock: number }>();
  for (const [index, { events }] of traces.entries()) {
    for (const event of events) {
      const arrival = SENT.get(event.kind);
      if (arrival === undefined) continue;
      const name = nameOf(arrival, event, event.member, event.peer);
      if (!sent.has(name)) sent.set(name, { time: event.time, clock: clockOf[index]! });
    }
  }
  const delays: LeastDelays = new Map();
  for (const [index, { events }] of traces.entries()) {
    for (const event of events) {
      if (!ARRIVED.has(event.kind as never)) continue;
      const from = sent.get(nameOf(event.kind, event, event.peer, event.member));
      if (!from || from.clock === clockOf[index]) continue;
      const name = `${from.clock}>${clockOf[index]}`;
      delays.set(name, Math.min(delays.get(name) ?? Number.POSITIVE_INFINITY, event.time - from.time));
    }
  }
  return delays;
}

function nameOf(kind: number, event: TraceEvent, from: number, to: number): string {
  return `${kind}/${event.protocol}/${event.group}/${event.message}/${event.block}/${from}/${to}`;
}

function wallOffset(first: Trace, other: Trace): number {
  return first.clockNs - other.clockNs + (other.wallMs - first.wallMs) * 1e6;
}
