import type { Checksum } from '../checksum.js';
import type { FileSurvey } from '../file-survey.js';
import type { ManifestPiece } from '../manifest/piece-encoder.js';
import type { FilledMessage } from '../reader/message-source.js';
import type { CastReport, EntryFacts, FillOrder, SurveyOrder } from '../reader/orders.js';
import type { ReaderCalls } from '../reader.js';
import { CallingThread } from '../worker-calls.js';

const MODULE = new URL('./reader.js', import.meta.url);

/** The application's end of the thread that walks, reads and hashes. */
export class ReaderThread {
  readonly #thread = new CallingThread<ReaderCalls>(MODULE);

  /**
   * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNREADABLE, ERR_RDMC_DUPLICATE_NAME, ERR_RDMC_INVALID_OPTION,
   *   ERR_RDMC_UNSAFE_PATH
   */
  survey(order: SurveyOrder): Promise<FileSurvey> {
    return this.#thread.call('survey', order, order.input ? [order.input.port] : []);
  }

  /** Before the first piece of a manifest. Resolves with the number of entries. */
  compare(checksum: Checksum, byContent: boolean): Promise<number> {
    return this.#thread.call('compare', { checksum, byContent });
  }

  piece(first: number): Promise<ManifestPiece> {
    return this.#thread.call('piece', first);
  }

  costs(): Promise<Float64Array> {
    return this.#thread.call('costs', undefined);
  }

  facts(indices: Uint32Array): Promise<EntryFacts[]> {
    return this.#thread.call('facts', indices);
  }

  attach(device: number): Promise<void> {
    return this.#thread.call('attach', { device });
  }

  /**
   * Begins a stream of the selected entries; of all where `selection` is undefined.
   * @param checked whether each message ends with a CHECK
   */
  begin(checksum: Checksum, selection: Uint8Array | undefined, checked = false): Promise<void> {
    return this.#thread.call('begin', { checksum, selection, checked });
  }

  fill(order: FillOrder): Promise<FilledMessage> {
    return this.#thread.call('fill', order);
  }

  report(): Promise<CastReport> {
    return this.#thread.call('report', undefined);
  }

  end(): Promise<void> {
    return this.#thread.end();
  }
}
