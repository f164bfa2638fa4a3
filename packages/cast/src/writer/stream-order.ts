import { protocolError } from '../errors.js';
import type { StreamEndRecord } from '../stream/records.js';

/** What is counted of a stream. */
export type EntryKinds = 'files' | 'directories' | 'symbolicLinks' | 'hardLinks';

/** Checks that the messages and entries of a cast's streams come in order, and that nothing is missing at the end. */
export class StreamOrder {
  /** Messages of all streams. */
  #allMessages = 0;
  #messages = 0;
  #lastIndex = -1;
  #seen = { files: 0, directories: 0, symbolicLinks: 0, hardLinks: 0 };
  #ended: StreamEndRecord | undefined;

  /** Before the records of a message. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  enter(sequence: number): void {
    if (sequence === 0 && this.#messages > 0) this.#beginStream();
    if (sequence !== this.#messages)
      throw protocolError(`received message ${sequence} instead of ${this.#messages}`);
    this.#messages += 1;
    this.#allMessages += 1;
  }

  /** Before each record. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  record(): void {
    if (this.#ended) throw protocolError('the stream has records after its end');
  }

  /**
   * Before each new entry.
   * @param open index of the file that has not ended
   * @throws CastError ERR_RDMC_CAST_PROTOCOL
   */
  entry(index: number, kind: EntryKinds, open: number | undefined): void {
    if (open !== undefined) throw protocolError(`entry ${index} begins before entry ${open} has ended`);
    if (index <= this.#lastIndex)
      throw protocolError(`entry ${index} came after entry ${this.#lastIndex}; indices must grow`);
    this.#lastIndex = index;
    this.#seen[kind] += 1;
  }

  /** Whether an entry of the stream has this index, or a larger one. */
  hasReached(index: number): boolean {
    return index <= this.#lastIndex;
  }

  /** @param open index of the file that has not ended */
  end(record: StreamEndRecord, open: number | undefined): void {
    if (open !== undefined) throw protocolError(`the stream ends before entry ${open} has ended`);
    this.#ended = record;
  }

  /**
   * At the end of the cast.
   * @param messages of all streams, as the sender counts them
   * @param mayBeEmpty whether there may be no stream, because nothing was lacking
   * @throws CastError ERR_RDMC_CAST_PROTOCOL
   */
  finish(messages: number, mayBeEmpty: boolean): void {
    const isWhole = this.#isComplete || (messages === 0 && mayBeEmpty);
    if (messages === this.#allMessages && isWhole) return;
    throw protocolError(
      `the stream is incomplete: ${this.#allMessages} of ${messages} messages, or totals other than announced`,
    );
  }

  #beginStream(): void {
    if (!this.#isComplete) throw protocolError('a stream began before the previous one had ended');
    this.#messages = 0;
    this.#lastIndex = -1;
    this.#seen = { files: 0, directories: 0, symbolicLinks: 0, hardLinks: 0 };
    this.#ended = undefined;
  }

  get #isComplete(): boolean {
    const { files, directories, symbolicLinks, hardLinks } = this.#seen;
    return (
      this.#ended?.files === files &&
      this.#ended.directories === directories &&
      this.#ended.symbolicLinks === symbolicLinks &&
      this.#ended.hardLinks === hardLinks
    );
  }
}
