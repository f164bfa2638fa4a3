import {
  NONE,
  TraceKind,
  TraceProtocol,
  type TraceSink,
  type TraceSubject,
  traceSubject,
} from '@rdmc/dataplane/trace';

/** Records the batches of a group's small messages. A message is a batch, by its number on its link. */
export class SmallTrace {
  readonly #subject: TraceSubject;

  constructor(
    private readonly sink: TraceSink,
    group: number,
    /** Ids of the members at the other ends, by link. */
    private readonly peers: readonly number[],
  ) {
    this.#subject = traceSubject(TraceProtocol.SMALL, group);
  }

  written(link: number, batch: number): void {
    this.sink.put(this.#subject, TraceKind.SEND_STARTED, batch, NONE, this.peers[link]!);
  }

  completed(link: number, batch: number): void {
    this.sink.put(this.#subject, TraceKind.SEND_FINISHED, batch, NONE, this.peers[link]!);
  }

  arrived(link: number, batch: number): void {
    this.sink.put(this.#subject, TraceKind.RECEIVED, batch, NONE, this.peers[link]!);
  }
}
