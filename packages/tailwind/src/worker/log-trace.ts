import {
  NONE,
  TraceKind,
  TraceProtocol,
  type TraceSink,
  type TraceSubject,
  traceSubject,
} from '@rdmc/dataplane/trace';
import type { TracedSegment } from '../records.js';

/** A target of a channel, as far as a trace sees it. */
interface TracedTarget {
  readonly completed: number;
  readonly setup: { readonly member: number };
}

/**
 * Records the appends of one segment at its primary. A message is an append, by its sequence number in the segment; the block
 * is the segment. The primary waits for the target that has the fewest appends.
 */
export class LogTrace {
  readonly #subject: TraceSubject;
  #waitsFor = NONE;

  constructor(
    private readonly sink: TraceSink,
    private readonly segment: TracedSegment,
  ) {
    this.#subject = traceSubject(TraceProtocol.TAILWIND, segment.log);
  }

  appended(sequence: number): void {
    this.#put(TraceKind.BEGAN, sequence, NONE);
  }

  written(sequence: number, member: number): void {
    this.#put(TraceKind.SEND_STARTED, sequence, member);
  }

  completed(sequence: number, member: number): void {
    this.#put(TraceKind.SEND_FINISHED, sequence, member);
  }

  acknowledged(sequence: number): void {
    this.#put(TraceKind.FINISHED, sequence, NONE);
  }

  /** After each event. @param posted the last append */
  waits(posted: number, targets: readonly TracedTarget[]): void {
    let [least, member] = [posted, NONE];
    for (const { completed, setup } of targets) {
      if (completed < least) [least, member] = [completed, setup.member];
    }
    if (member === this.#waitsFor) return;
    this.#waitsFor = member;
    const kind = member === NONE ? TraceKind.WAITS_FOR_NOTHING : TraceKind.WAITS_FOR_SENT;
    this.#put(kind, least === posted ? NONE : least + 1, member);
  }

  #put(kind: Parameters<TraceSink['put']>[1], sequence: number, member: number): void {
    this.sink.put(this.#subject, kind, sequence, this.segment.segment, member);
  }
}
