import { PIECES_AHEAD } from '../constants.js';
import { encodeControlFrame } from '../control/control-channel.js';
import { EntryState } from '../manifest/entry-states.js';
import type { BlockedFile } from '../reader/block-reader.js';
import type { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';

/** States in which a receiver is asked about a file. */
const ASKED: ReadonlySet<number> = new Set([EntryState.OLDER, EntryState.PARTLY]);

/**
 * Asks receivers which blocks of changed files they have, in the order of the files, a few frames ahead of their answers.
 * A receiver that fails is left out.
 */
export class BlockComparison {
  readonly #pending: Promise<unknown>[] = [];

  constructor(
    private readonly reader: ReaderThread,
    private readonly links: readonly ReceiverLink[],
  ) {}

  /** Returns the files that were compared. */
  async run(): Promise<BlockedFile[]> {
    const compared: BlockedFile[] = [];
    const candidates = this.#candidates();
    if (candidates.length === 0) return compared;
    for (const file of await this.reader.blockedFiles(candidates)) {
      if ((await this.#compare(file)) && (await this.#show(file))) compared.push(file);
      else for (const { blocks } of this.links) blocks.forget(file.index);
    }
    await Promise.all(this.#pending);
    return compared;
  }

  /** Entries of which one receiver at least has an older file, or wants only parts. */
  #candidates(): Uint32Array {
    const found = new Set<number>();
    for (const { alive, states } of this.links) {
      if (!alive) continue;
      for (const [entry, state] of states.entries()) if (ASKED.has(state)) found.add(entry);
    }
    return Uint32Array.from(found).sort();
  }

  /** Returns false where the file could not be read. */
  async #compare(file: BlockedFile): Promise<boolean> {
    const { index, blocks } = file;
    const asked = this.links.filter(({ states }) => states[index] === EntryState.OLDER);
    for (let first = 0; first < blocks && asked.some(({ alive }) => alive); ) {
      const hashed = await this.reader.hashes(index, first);
      if (!hashed) return false;
      const { count, data } = hashed;
      const frame = encodeControlFrame({ type: 'hashes', index, first, data });
      const living = asked.filter(({ alive }) => alive);
      const at = first;
      this.#pending.push(
        Promise.all(living.map((link) => link.ask(frame, link.blocks.expect(file, at, count)))),
      );
      if (this.#pending.length >= PIECES_AHEAD) await this.#pending.shift();
      first += count;
    }
    return true;
  }

  /** Shows the header of a file to receivers that want parts of it. Returns false where it could not be read. */
  async #show(file: BlockedFile): Promise<boolean> {
    const { index } = file;
    const asked = this.links.filter(({ states }) => states[index] === EntryState.PARTLY);
    for (let offset = 0, isEnd = false; !isEnd && asked.some(({ alive }) => alive); ) {
      const head = await this.reader.head(index, offset);
      if (!head) return false;
      const { bytes, data, last } = head;
      const frame = encodeControlFrame({ type: 'head', index, offset, data, last });
      const living = asked.filter(({ alive }) => alive);
      const at = offset;
      const answers = living.map((link) => link.ask(frame, link.blocks.expectWanted(file, at, last)));
      this.#pending.push(Promise.all(answers));
      if (this.#pending.length >= PIECES_AHEAD) await this.#pending.shift();
      offset += bytes;
      isEnd = last;
    }
    return true;
  }
}
