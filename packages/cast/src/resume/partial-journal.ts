import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { codeOf } from '../errors.js';
import { encodeClosed, encodeHeader, encodeRange, type JournalFacts, type Range } from './journal.js';

const OPEN_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * Writes the journal of a partial file. A journal that cannot be written any more, on a full disk for instance, does not
 * disturb the cast: the file then counts only as far as the journal goes.
 */
export class PartialJournal {
  readonly descriptor: number;
  readonly #header: Buffer;
  #at = 0;
  #number = 0;
  /** The file is in the journal from its beginning to here. */
  #covered = 0;
  /** Ranges that `note` has written, or that were there: `start-end`. */
  readonly #noted = new Set<string>();
  #isBroken = false;
  #isReleased = false;

  /**
   * Makes a new journal, which replaces an older one of that name.
   * @param ranges in order, without overlaps; they are on disk
   * @throws errors of the system
   */
  constructor(
    private readonly path: Buffer,
    facts: JournalFacts,
    ranges: readonly Range[] = [],
  ) {
    this.#header = encodeHeader(facts);
    const temporary = Buffer.concat([path, Buffer.from('.new')]);
    this.descriptor = openSync(temporary, OPEN_FLAGS, 0o600);
    try {
      this.#write(this.#header);
      for (const range of ranges) this.#noteOne(range);
      if (ranges.length > 0) fdatasyncSync(this.descriptor);
      renameSync(temporary, path);
    } catch (error) {
      this.release();
      throw error;
    }
    const [first] = ranges;
    if (first?.start === 0) this.#covered = first.end;
  }

  /** Bytes 0 to `end` of the file are on disk. */
  extend(end: number): void {
    if (end <= this.#covered || this.#isBroken) return;
    const start = this.#covered;
    this.#covered = end;
    this.#attempt(() => this.#append({ start, end }));
  }

  /** These ranges are on disk. Those that are in the journal already are not written again. */
  note(ranges: readonly Range[]): void {
    this.#attempt(() => {
      for (const range of ranges) this.#noteOne(range);
    });
  }

  /** Nothing more will be written to the file. @param file its descriptor */
  close(file: number): void {
    this.#attempt(() => {
      const { ino: inode, size, mtimeNs, ctimeNs } = fstatSync(file, { bigint: true });
      this.#write(encodeClosed(this.#header, this.#number, { inode, size, mtimeNs, ctimeNs }));
      this.#number += 1;
    });
  }

  /** Removes it; `release` closes its descriptor. */
  remove(): void {
    this.#isBroken = true;
    try {
      unlinkSync(this.path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  /** Closes the descriptor. Idempotent. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#isBroken = true;
    closeSync(this.descriptor);
  }

  #noteOne(range: Range): void {
    const key = `${range.start}-${range.end}`;
    if (this.#noted.has(key)) return;
    this.#append(range);
    this.#noted.add(key);
  }

  #append(range: Range): void {
    this.#write(encodeRange(this.#header, this.#number, range));
    this.#number += 1;
  }

  #write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.descriptor, bytes, done, bytes.length - done, this.#at + done);
    this.#at += bytes.length;
  }

  #attempt(action: () => void): void {
    if (this.#isBroken) return;
    try {
      action();
    } catch {
      // A record that was written in part ends the journal.
      this.#isBroken = true;
    }
  }
}
