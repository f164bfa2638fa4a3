import { PIECES_AHEAD } from '../constants.js';
import { encodeControlFrame } from '../control/control-channel.js';
import { isLacking } from '../manifest/entry-states.js';
import { planGroups } from '../plan-groups.js';
import { type Phase, phaseOf } from './phase.js';
import type { ReaderThread } from './reader-thread.js';
import { noRoom, type ReceiverLink } from './receiver-link.js';

/** Asks receivers what they lack, and plans what is sent to which of them. */
export class Comparison {
  constructor(
    private readonly reader: ReaderThread,
    private readonly entries: number,
  ) {}

  /** Sends the manifest to all receivers, a few pieces ahead of their answers. A receiver that fails is left out. */
  async run(links: readonly ReceiverLink[]): Promise<void> {
    for (const link of links) link.states = new Uint8Array(this.entries);
    const pending: Promise<unknown>[] = [];
    for (let first = 0; first < this.entries && links.some(({ alive }) => alive); ) {
      const piece = await this.reader.piece(first);
      const frame = encodeControlFrame({ type: 'offer', ...piece });
      const living = links.filter(({ alive }) => alive);
      pending.push(Promise.all(living.map((link) => link.compare(frame, first, piece.count))));
      if (pending.length >= PIECES_AHEAD) await pending.shift();
      first += piece.count;
    }
    await Promise.all(pending);
    await Promise.all(links.filter(({ alive }) => alive).map((link) => link.endOffers()));
  }

  /** Drops receivers without room for what they lack. Returns the phases of the others. */
  async plan(links: readonly ReceiverLink[]): Promise<Phase[]> {
    const costs = await this.reader.costs();
    for (const link of links) checkRoom(link, costs);
    const living = links.filter(({ alive }) => alive);
    const groups = planGroups(
      living.map(({ states }) => states),
      costs,
    );
    return groups.map((group) => phaseOf(group, living));
  }
}

function checkRoom(link: ReceiverLink, costs: Float64Array): void {
  let needed = 0;
  for (const [entry, state] of link.states.entries()) if (isLacking(state)) needed += costs[entry]!;
  if (link.alive && link.freeBytes < needed) link.fail(noRoom(link, needed));
}
