import type { PlaneTrace } from '../options.js';
import { TraceRecorder, type TraceSink } from './recorder.js';
import type { TraceSource } from './trace-file.js';

/** The ring of the application's thread, made when the first protocol runs there. */
export class OwnTrace {
  #source: TraceSource | undefined;
  #sink: TraceSink | undefined;
  #isClosed = false;

  constructor(private readonly trace: PlaneTrace | undefined) {}

  /** Undefined without a trace, and after the end. */
  get sink(): TraceSink | undefined {
    if (!this.trace || this.#isClosed) return undefined;
    if (!this.#sink) {
      const { file, member } = this.trace;
      this.#source = file.source(member);
      this.#sink = new TraceRecorder(this.#source.memory, member);
    }
    return this.#sink;
  }

  close(): void {
    this.#isClosed = true;
    this.#source?.close();
  }
}
