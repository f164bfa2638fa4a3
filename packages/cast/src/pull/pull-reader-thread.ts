import type { PullReaderCalls } from '../pull-reader.js';
import { CallingThread } from '../worker-calls.js';
import type { OriginFacts } from './origin.js';
import type {
  FilesOfPieces,
  FilledPieces,
  FillPiecesOrder,
  PullRunOrder,
  PullSurveyOrder,
} from './reader-orders.js';

const MODULE = new URL('./pull-reader.js', import.meta.url);

/** The application's end of the thread of a server, or of a gathering cast, that hashes, reads and encrypts. */
export class PullReaderThread {
  readonly #thread = new CallingThread<PullReaderCalls>(MODULE);

  /** Sets whether the thread keeps the process alive. */
  ref(wanted: boolean): void {
    this.#thread.ref(wanted);
  }

  /**
   * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNSAFE_PATH, ERR_RDMC_UNSUPPORTED_TYPE, ERR_RDMC_UNREADABLE; of a cast,
   *   as `ReaderThread.beginSurvey`
   */
  survey(order: PullSurveyOrder): Promise<OriginFacts> {
    return this.#thread.call('survey', order);
  }

  filesOf(pieces: Uint32Array<ArrayBuffer>): Promise<FilesOfPieces> {
    return this.#thread.call('filesOf', pieces);
  }

  /** Hashes of pieces, as base64. */
  hashes(first: number): Promise<string> {
    return this.#thread.call('hashes', first);
  }

  attach(device: number): Promise<void> {
    return this.#thread.call('attach', { device });
  }

  beginRun(order: PullRunOrder): Promise<void> {
    return this.#thread.call('beginRun', order);
  }

  fill(order: FillPiecesOrder): Promise<FilledPieces> {
    return this.#thread.call('fill', order);
  }

  /** Closes files until the next survey. */
  rest(): Promise<void> {
    return this.#thread.call('rest', undefined);
  }

  end(): Promise<void> {
    return this.#thread.end();
  }
}
