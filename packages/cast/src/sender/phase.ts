import { ENTRY_COST_BYTES } from '../constants.js';
import type { PlannedGroup } from '../plan-groups.js';
import type { ReceiverLink } from './receiver-link.js';

/** One stream of a cast, and the receivers that get it. Phases follow each other. */
export interface Phase {
  readonly links: readonly ReceiverLink[];
  /** A byte of `Selected` for each entry; undefined for all entries. */
  readonly selection: Uint8Array | undefined;
  /** Bits of the blocks that are sent, of files that are not sent whole. */
  readonly sentBlocks: ReadonlyMap<number, Uint8Array>;
  /** Bytes of contents, holes left out. */
  readonly contentBytes: number;
}

export function phaseOf(
  { members, selection, sentBlocks, cost, entries }: PlannedGroup,
  links: readonly ReceiverLink[],
): Phase {
  return {
    links: members.map((index) => links[index]!),
    selection,
    sentBlocks,
    contentBytes: cost - entries * ENTRY_COST_BYTES,
  };
}
