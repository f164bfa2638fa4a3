import { PIECES_AHEAD } from '../constants.js';
import { encodeControlFrame } from '../control/control-channel.js';
import { BlockSet } from '../delta/block-set.js';
import type { FileSurvey } from '../file-survey.js';
import { isLacking } from '../manifest/entry-states.js';
import { type DeltaFile, planGroups } from '../plan-groups.js';
import type { BlockedFile } from '../reader/block-reader.js';
import type { NextPiece } from '../reader/manifest-reader.js';
import { BlockComparison } from './block-comparison.js';
import { noRoom } from './link-errors.js';
import { type Phase, phaseOf } from './phase.js';
import type { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';

/** Asks receivers what they lack, and plans what is sent to which of them. */
export class Comparison {
  #blocked: readonly BlockedFile[] = [];

  /** The first pieces, which are read while the receivers are called. */
  #next: Promise<NextPiece>;

  constructor(private readonly reader: ReaderThread) {
    this.#next = this.#piece(0);
  }

  /**
   * Sends the manifest to all receivers, a few pieces ahead of their answers, and lists the entries meanwhile. A receiver
   * that fails is left out.
   *
   * @param surveyed resolves when all entries are listed
   */
  async run(links: readonly ReceiverLink[], surveyed: () => Promise<FileSurvey>): Promise<void> {
    const pending: Promise<unknown>[] = [];
    let entries = 0;
    for (let isEnd = false; !isEnd && links.some(({ alive }) => alive); ) {
      const { piece, isLast } = await this.#next;
      isEnd = isLast;
      const first = entries;
      entries += piece.count;
      if (!isEnd) this.#next = this.#piece(entries);
      if (piece.count === 0) break;
      const frame = encodeControlFrame({ type: 'offer', ...piece });
      const living = links.filter(({ alive }) => alive);
      pending.push(Promise.all(living.map((link) => link.compare(frame, first, piece.count))));
      if (pending.length >= PIECES_AHEAD) await pending.shift();
    }
    await Promise.all(pending);
    const totals = await surveyed();
    const living = links.filter(({ alive }) => alive);
    await Promise.all(living.map((link) => link.endOffers(entries, totals)));
    // A sink gets whole files, and may be in any group: a stream with ranges of older files is of no use to it.
    if (links.some(({ alive, checked, takesRanges }) => alive && checked && !takesRanges)) return;
    this.#blocked = await new BlockComparison(this.reader, links).run();
  }

  #piece(first: number): Promise<NextPiece> {
    const next = this.reader.piece(first);
    // Nobody may wait for it any more when the reader ends.
    next.catch(() => {});
    return next;
  }

  /** Drops receivers without room for what they lack. Returns the phases of the others. */
  async plan(links: readonly ReceiverLink[]): Promise<Phase[]> {
    const costs = await this.reader.costs();
    for (const link of links) checkRoom(link, costs);
    const living = links.filter(({ alive }) => alive);
    const groups = planGroups(
      living.map(({ states }) => states),
      costs,
      this.#blocked.map((file) => deltaOf(file, living)),
    );
    return groups.map((group) => phaseOf(group, living));
  }
}

/** What the receivers lack of a file; all of it where they have no older one. */
export function deltaOf(
  { index, size, blocks }: BlockedFile,
  links: readonly Pick<ReceiverLink, 'states' | 'blocks'>[],
): DeltaFile {
  const all = BlockSet.all(blocks);
  const lacking = new Map<number, BlockSet>();
  for (const [receiver, link] of links.entries()) {
    if (isLacking(link.states[index]!)) lacking.set(receiver, link.blocks.lacking.get(index) ?? all);
  }
  return { entry: index, size, lacking };
}

/** `freeBytes` counts all that interrupted casts have left as free; what the comparison has taken of it is in use. */
function checkRoom(link: ReceiverLink, costs: Float64Array): void {
  let needed = 0;
  for (const [entry, state] of link.states.entries()) if (isLacking(state)) needed += costs[entry]!;
  const roomBytes = link.surplus.roomBytes ?? link.freeBytes;
  if (link.alive && roomBytes < needed) link.fail(noRoom(link.name, roomBytes, needed));
}
