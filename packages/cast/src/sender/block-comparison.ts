import { PIECES_AHEAD } from '../constants.js';
import { encodeControlFrame } from '../control/control-channel.js';
import { EntryState } from '../manifest/entry-states.js';
import type { BlockedFile } from '../reader/block-reader.js';
import type { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';

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
      if (await this.#compare(file)) compared.push(file);
      else for (const { blocks } of this.links) blocks.forget(file.index);
    }
    await Promise.all(this.#pending);
    return compared;
  }

  /** Entries of which one receiver at least has an older file. */
  #candidates(): Uint32Array {
    const found = new Set<number>();
    for (const { alive, states } of this.links) {
      if (!alive) continue;
      for (const [entry, state] of states.entries()) if (state === EntryState.OLDER) found.add(entry);
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
      this.#pending.push(Promise.all(living.map((link) => link.compareBlocks(frame, file, at, count))));
      if (this.#pending.length >= PIECES_AHEAD) await this.#pending.shift();
      first += count;
    }
    return true;
  }
}
