import type { CastProblem } from '../cast-summary.js';
import type { BeginningFile, Ended, FileTaker, SinkFailure } from './file-taker.js';
import type { SinkOrder } from './sink-orders.js';

/** Passes an order to the sinks; resolves when it is done. */
export interface Sinks {
  order(order: SinkOrder): Promise<void>;
  giveUp(): void;
  close(): void;
}

/** Gives files to streams in the application's thread. */
export class SinkTaker implements FileTaker {
  readonly answers = undefined;

  /** Of the open file. */
  #bytes = 0;

  constructor(private readonly sinks: Sinks) {}

  begin(file: BeginningFile): Promise<void> {
    this.#bytes = 0;
    return this.sinks.order({ ...file, type: 'begin' });
  }

  data(bytes: Buffer): Promise<void> {
    this.#bytes += bytes.length;
    // A copy, which the sink may keep: the memory of the message is reused.
    return this.sinks.order({ type: 'data', bytes: new Uint8Array(bytes) });
  }

  /** A sink gets the zeros of a hole. */
  hole(length: number): Promise<void> {
    return this.data(Buffer.alloc(length));
  }

  pass(): void {}

  async end(): Promise<Ended> {
    await this.sinks.order({ type: 'end' });
    return this.#bytes;
  }

  discard(failure: SinkFailure): Promise<void> {
    return this.sinks.order({ type: 'discard', ...failure });
  }

  async finish(): Promise<readonly CastProblem[]> {
    return [];
  }

  giveUp(): void {
    this.sinks.giveUp();
  }

  close(): void {
    this.sinks.close();
  }
}
