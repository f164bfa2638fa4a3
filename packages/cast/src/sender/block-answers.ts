import { Fifo } from '@rdmc/common';
import type { HeldFrame, UnbuiltFrame, WantedFrame } from '../control/frames.js';
import { BlockSet } from '../delta/block-set.js';
import { decodeHeld } from '../delta/hash-frames.js';
import { protocolError } from '../errors.js';
import type { BlockedFile } from '../reader/block-reader.js';

interface Question {
  readonly file: BlockedFile;
  readonly first: number;
  readonly count: number;
  readonly answered: () => void;
}

/** A piece of the header of a file that was sent. */
interface ShownHead {
  readonly file: BlockedFile;
  readonly offset: number;
  readonly isLast: boolean;
  readonly answered: () => void;
}

/** The answers of one receiver about the blocks of its older files. */
export class BlockAnswers {
  /** Blocks that it lacks of the files that it was asked about, by entry. */
  readonly lacking = new Map<number, BlockSet>();
  readonly #questions = new Fifo<Question>();
  readonly #heads = new Fifo<ShownHead>();
  #unbuilt:
    | { readonly entries: Set<number>; readonly reported: (entries: ReadonlySet<number>) => void }
    | undefined;

  /** Expects an answer about `count` blocks; resolves when it is there. */
  expect(file: BlockedFile, first: number, count: number): Promise<void> {
    if (!this.lacking.has(file.index)) this.lacking.set(file.index, BlockSet.all(file.blocks));
    return new Promise((answered) => this.#questions.push({ file, first, count, answered }));
  }

  /** Expects an answer about a piece of the header of a file; resolves when it is there. */
  expectWanted(file: BlockedFile, offset: number, isLast: boolean): Promise<void> {
    return new Promise((answered) => this.#heads.push({ file, offset, isLast, answered }));
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  wanted({ index, offset, data }: WantedFrame): void {
    const head = this.#heads.shift();
    if (head?.file.index !== index || head.offset !== offset || head.isLast !== (data !== undefined))
      throw protocolError('a receiver wanted parts of a file whose header it was not sent');
    if (data !== undefined) this.lacking.set(index, decodeHeld(data, head.file.blocks));
    head.answered();
  }

  /** The blocks of this file are not compared after all: it is sent whole. */
  forget(index: number): void {
    this.lacking.delete(index);
  }

  /** Expects a report of files that could not be built; resolves with their entries. */
  expectUnbuilt(): Promise<ReadonlySet<number>> {
    return new Promise((reported) => {
      this.#unbuilt = { entries: new Set(), reported };
    });
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  held({ index, first, data }: HeldFrame): void {
    const question = this.#questions.shift();
    if (question?.file.index !== index || question.first !== first)
      throw protocolError('a receiver compared blocks whose hashes it was not sent');
    const held = decodeHeld(data, question.count);
    const lacking = this.lacking.get(index);
    for (let block = 0; block < question.count; block += 1) {
      if (held.has(block)) lacking?.delete(first + block);
    }
    question.answered();
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  unbuilt({ entries, last }: UnbuiltFrame): void {
    if (!this.#unbuilt || !entries.every((entry) => this.lacking.has(entry)))
      throw protocolError('a receiver could not build files that it was not asked about');
    for (const entry of entries) this.#unbuilt.entries.add(entry);
    if (!last) return;
    this.#unbuilt.reported(this.#unbuilt.entries);
    this.#unbuilt = undefined;
  }
}
