import { EntryState } from '../manifest/entry-states.js';
import { type PlannedGroup, planGroups } from '../plan-groups.js';
import { Selected } from '../reader/selection.js';
import { type Phase, phaseOf } from './phase.js';
import type { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';

/**
 * Asks receivers which files they could not build from older ones, because these have changed meanwhile or are not what
 * the receiver said. Returns the phases that send these files whole, to those receivers only.
 */
export async function planRebuild(links: readonly ReceiverLink[], reader: ReaderThread): Promise<Phase[]> {
  const asked = links.filter(({ alive, blocks }) => alive && blocks.lacking.size > 0);
  if (asked.length === 0) return [];
  const unbuilt = await Promise.all(asked.map((link) => link.check()));
  if (unbuilt.every(({ size }) => size === 0)) return [];
  const costs = await reader.costs();
  // Other receivers have the file as it was compared.
  const states = asked.map((_, receiver) => {
    const its = new Uint8Array(costs.length).fill(EntryState.HAS);
    for (const entry of unbuilt[receiver]!) its[entry] = EntryState.DIFFERS;
    return its;
  });
  return planGroups(states, costs).map((group) => phaseOf({ ...group, selection: unchanged(group) }, asked));
}

/**
 * An earlier stream may have brought these files to receivers that were not asked, so they are sent only as they were
 * compared: otherwise receivers would have different files.
 */
function unchanged({ selection }: PlannedGroup): Uint8Array {
  return selection.map((state) => (state === Selected.NO ? state : Selected.UNCHANGED));
}
