import { setTimeout as delay } from 'node:timers/promises';
import { type ClusterStatus, type CoordinatorFacts, slotCount } from '../admin/status.js';
import { errorWith } from './ask-cluster.js';

/** How often `kv admin` looks how far the cluster is. */
const LOOK_MS = 500;

export interface MovesWait {
  readonly status: () => Promise<ClusterStatus>;
  /** Has the coordinator hand slots over, if it does not do so. */
  readonly order: () => Promise<unknown>;
  /** The work that is left beside slots to move; undefined: nothing. */
  readonly remains?: ((status: ClusterStatus) => string | undefined) | undefined;
  /** Whether a hand-over that failed for good stands in the way of what was ordered (default: always). */
  readonly isHindered?: ((status: ClusterStatus) => boolean) | undefined;
  /** @param left slots to move; null: not known */
  readonly progress: (text: string, left: number | null) => void;
  /** Tells the operator a reason at once. */
  readonly warn: (text: string) => void;
  /** The wait between two looks (default: a timer). */
  readonly pause?: () => Promise<unknown>;
}

/**
 * Waits until no slot is left to move, and nothing else. It tells how far that is, and once for each reason why it does not go on.
 * @throws RdmcError of the hand-over that failed for good; as `status` and `order`
 */
export async function waitForMoves(wait: MovesWait): Promise<void> {
  const { remains = () => undefined, isHindered = () => true, pause = () => delay(LOOK_MS) } = wait;
  const hindrance = new Hindrance(wait.warn);
  for (let told = ''; ; await pause()) {
    const status = await wait.status();
    const { facts } = status.coordinator;
    hindrance.tell(facts);
    if (facts === null) continue;
    const { isRunning, left, failure } = facts.moves;
    const hasFailed = !isRunning && failure !== null;
    if (hasFailed && isHindered(status)) throw errorWith(failure.code, failure.reason);
    const rest = remains(status);
    if (!isRunning && (left === 0 || hasFailed) && rest === undefined) return;
    // The order, or the end of its hand-overs, was lost with the coordinator that had it.
    if (!isRunning && !hasFailed && left !== null && left > 0) await wait.order();
    const text = progressText(status, left, rest);
    if (text !== told) wait.progress(text, left);
    told = text;
  }
}

/** For `waitForMoves`: the replicas that a drained server has beside slots. */
export function remainsAtDrained(server: number): (status: ClusterStatus) => string | undefined {
  return ({ servers }) => {
    const found = servers.find((each) => each.server === server);
    if (found === undefined) return undefined;
    const { state, slots, facts } = found;
    if (slots.length > 0) return `slots of server ${server} move`;
    if (facts !== null) return (facts.backup?.logs.length ?? 0) > 0 ? 'replicas move' : undefined;
    const why =
      state === 'silent' ? 'does not answer' : `is not there, and kv admin remove ${server} forgets it`;
    return `server ${server} ${why}: it is not known whether it has replicas`;
  };
}

/** For `waitForMoves`: whether a drained server has slots yet. Other servers may not have their shares. */
export function hasSlots(server: number): (status: ClusterStatus) => boolean {
  return ({ servers }) => servers.some((each) => each.server === server && each.slots.length > 0);
}

/** Why slots do not move at present. */
class Hindrance {
  #isAway = false;
  #failure = '';

  constructor(private readonly warn: (text: string) => void) {}

  tell(facts: CoordinatorFacts | null): void {
    const isAway = facts === null;
    if (isAway && !this.#isAway)
      this.warn('the coordinator does not answer: slots do not move until one does');
    if (!isAway && this.#isAway) this.warn('a coordinator answers again');
    this.#isAway = isAway;
    const { isRunning, failure } = facts?.moves ?? { isRunning: false, failure: null };
    const text = isRunning && failure !== null ? `${failure.code}: ${failure.reason}` : '';
    if (text !== '' && text !== this.#failure) this.warn(`a hand-over failed, and is tried again: ${text}`);
    if (!isAway) this.#failure = text;
  }
}

function progressText({ servers }: ClusterStatus, left: number | null, rest = 'slots move'): string {
  const counts = servers.map(({ server, slots }) => `${server}: ${slotCount(slots)}`).join(', ');
  return `${what(left, rest)}; slots by server: ${counts}`;
}

function what(left: number | null, rest: string): string {
  if (left === null) return 'a server with slots is not there: it is not known how many are to move';
  return left > 0 ? `${left} slots to move` : rest;
}
