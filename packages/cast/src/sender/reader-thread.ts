import type { Checksum } from '../checksum.js';
import type { FileSurvey } from '../file-survey.js';
import type { CastReport, FillOrder } from '../reader/orders.js';
import type { FilledMessage } from '../reader/stream-reader.js';
import type { ReaderCalls } from '../reader.js';
import { CallingThread } from '../worker-calls.js';

const MODULE = new URL('./reader.js', import.meta.url);

/** The application's end of the thread that walks, reads and hashes. */
export class ReaderThread {
  readonly #thread = new CallingThread<ReaderCalls>(MODULE);

  /** @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNREADABLE, ERR_RDMC_DUPLICATE_NAME, ERR_RDMC_INVALID_OPTION */
  survey(paths: readonly Uint8Array[]): Promise<FileSurvey> {
    return this.#thread.call('survey', paths);
  }

  begin(device: number, checksum: Checksum): Promise<void> {
    return this.#thread.call('begin', { device, checksum });
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
