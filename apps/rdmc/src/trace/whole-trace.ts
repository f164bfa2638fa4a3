import type { Trace, TraceEvent } from '@rdmc/dataplane/trace';

/** The events of one or several traces, on one clock. */
export interface WholeTrace {
  /** Of the first file. */
  readonly header: Pick<Trace, 'wallMs' | 'clockNs' | 'clock' | 'host'>;
  readonly events: readonly TraceEvent[];
  readonly dropped: number;
  /** Sentences that a reader must know, such as the error of the clocks. */
  readonly notes: readonly string[];
}
