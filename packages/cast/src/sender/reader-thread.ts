import type { Checksum } from '../checksum.js';
import type { FileSurvey } from '../file-survey.js';
import type { BlockedFile, HashedBlocks, HeadPiece } from '../reader/block-reader.js';
import type { NextPiece } from '../reader/manifest-reader.js';
import type { FilledMessage } from '../reader/message-source.js';
import type {
  BeginOrder,
  CastReport,
  EntryFacts,
  FillOrder,
  RunOrder,
  SurveyOrder,
} from '../reader/orders.js';
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
  beginSurvey(order: SurveyOrder): Promise<void> {
    return this.#thread.call('beginSurvey', order, order.input ? [order.input.port] : []);
  }

  /** Lists all entries. Pieces of the manifest that are read before list only those that they need. */
  finishSurvey(): Promise<FileSurvey> {
    return this.#thread.call('finishSurvey', undefined);
  }

  /** Before the first piece of a manifest. */
  compare(checksum: Checksum, byContent: boolean): Promise<void> {
    return this.#thread.call('compare', { checksum, byContent });
  }

  piece(first: number): Promise<NextPiece> {
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

  /** Of files of which receivers have older ones: those whose blocks are compared. */
  blockedFiles(indices: Uint32Array): Promise<BlockedFile[]> {
    return this.#thread.call('blockedFiles', indices);
  }

  /** Hashes blocks of a file from `first` on. Undefined where it cannot be read, or has changed. */
  hashes(index: number, first: number): Promise<HashedBlocks | undefined> {
    return this.#thread.call('hashes', { index, first });
  }

  /** A piece of the header of a file with tensors. Undefined where it cannot be read, or has changed. */
  head(index: number, offset: number): Promise<HeadPiece | undefined> {
    return this.#thread.call('head', { index, offset });
  }

  begin(order: BeginOrder): Promise<void> {
    return this.#thread.call('begin', order);
  }

  /** Begins a run of the last stream: the messages that are filled from now on are sent to another group. */
  enterRun(order: RunOrder): Promise<void> {
    return this.#thread.call('enterRun', order);
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
