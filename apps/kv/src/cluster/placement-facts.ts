import { ownLevels } from '@rdmc/common';
import type { Coordinator } from '@rdmc/tailwind/coordinator';
import type { CoordinatorFacts } from '../admin/status.js';
import type { Management } from '../handover/management.js';
import { type Layout, slotsToMove } from '../handover/next-move.js';
import type { Rebalancer } from '../handover/rebalancer.js';
import { version } from '../version.js';
import type { Attempts } from './attempts.js';
import { allSlots, type PlacementState, rangesOfSlots } from './placement-state.js';
import { ownersOf } from './tenure.js';

export interface PlacementFactsOptions {
  readonly coordinator: Pick<Coordinator, 'logs' | 'term'>;
  /** Of the cluster. */
  readonly level: number;
  readonly state: Pick<PlacementState, 'storedTenures' | 'removed' | 'moving'>;
  readonly attempts: Pick<Attempts, 'isUnderWay'>;
  /** Whether the server of a log is here. */
  readonly isHere: (logId: string) => boolean;
  readonly moves: Pick<Rebalancer, 'facts'>;
  readonly layout: () => Promise<Layout | undefined>;
  readonly management: Pick<Management, 'drained'>;
}

/** What the coordinator says of itself, and of the slots whose server is not here. */
export async function placementFacts({
  coordinator,
  level,
  state,
  attempts,
  isHere,
  moves,
  layout,
  management,
}: PlacementFactsOptions): Promise<CoordinatorFacts> {
  const logs = await coordinator.logs();
  const { bySlot: owners, logs: having } = ownersOf((await state.storedTenures(logs)) ?? []);
  const found = await layout();
  const { isRunning, moved, failure = null } = moves.facts;
  const away = logs.filter(({ logId }) => having.has(String(logId)) && !isHere(String(logId)));
  return {
    version,
    levels: ownLevels(),
    level,
    run: coordinator.term,
    moves: {
      // An earlier coordinator may have begun it, and this one may wait for servers before it goes on.
      isRunning: isRunning || (await state.moving()),
      moved,
      left: found === undefined ? null : slotsToMove(found),
      failure,
    },
    drained: [...(await management.drained())],
    removed: [...(await state.removed())],
    recoveries: away.map(({ logId, owner }) => {
      const log = String(logId);
      const slots = rangesOfSlots(allSlots().filter((slot) => owners[slot] === log));
      return { log, server: owner, slots, isUnderWay: attempts.isUnderWay(log) };
    }),
  };
}
