import type { GroupOptions } from '@rdmc/group';
import { type Chances, chances } from '../random.js';
import { drawFault, type GroupFault } from './group-fault-plan.js';
import type { GroupSetup } from './group-messages.js';
import { type GroupScenario, isCertain, needsLab } from './group-scenarios.js';

/** As PATIENT of @rdmc/testing. */
const PATIENT_MS = 60_000;

export interface GroupShape {
  readonly transport: 'shm' | 'tcp';
  /** 0: silence is not detected. */
  readonly silenceTimeoutMs: number;
  readonly group: GroupOptions;
}

/** How members send and read. */
export type GroupHabits = Pick<GroupSetup, 'sizes' | 'burst' | 'pauseMs' | 'reads'>;

export interface GroupPlan {
  readonly seed: number;
  readonly scenario: GroupScenario;
  readonly shape: GroupShape;
  readonly habits: GroupHabits;
  /** The member that reads slowly, and how slowly. */
  readonly slow: { readonly member: number; readonly ms: number } | undefined;
  readonly fault: GroupFault;
  /** Survivors go on in a new group. */
  readonly again: boolean;
  /** Deliveries at one member after the last fault, if the group goes on. */
  readonly after: number;
}

/** Everything that a seed determines. */
export function drawGroup(seed: number, among: readonly GroupScenario[]): GroupPlan {
  const random = chances(seed);
  const scenario = random.pick(among);
  const shape = drawShape(random, scenario);
  const { members, senders } = shape.group;
  return {
    seed,
    scenario,
    shape,
    habits: drawHabits(random, shape.group),
    slow:
      random.integer(0, 3) === 0 ? { member: random.pick(members), ms: random.integer(1, 20) } : undefined,
    fault: drawFault(random, scenario, {
      members,
      hasOneSender: senders === undefined,
      silenceTimeoutMs: shape.silenceTimeoutMs,
    }),
    after: random.integer(1, 400),
    // Else a member may be excluded that lives, and does not know it yet.
    again: isCertain(scenario) && random.integer(0, 1) === 1,
  };
}

function drawShape(random: Chances, scenario: GroupScenario): GroupShape {
  const isKnown = isCertain(scenario);
  // Two deaths at least, and a majority or not.
  const count = random.integer(scenario === 'group-members' ? 5 : 3, 6);
  const members = random.shuffled(Array.from({ length: count }, (_, id) => id));
  const base: GroupOptions = {
    id: random.integer(0, 1000),
    members,
    delivery: 'stable',
    timeoutMs: 120_000,
    retryTimeoutMs: isKnown ? PATIENT_MS : random.integer(1000, 3000),
    // A network that is cut into parts has survivors in each of them.
    ...(isKnown && random.integer(0, 5) === 0 && { quorum: 'none' }),
  };
  return {
    transport: needsLab(scenario) ? 'tcp' : random.pick(['shm', 'shm', 'tcp']),
    silenceTimeoutMs: isKnown ? 0 : random.integer(1000, 4000),
    group: { ...base, ...drawSenders(random, members) },
  };
}

/** One sender, with messages of blocks; or several, in their order or in the total one. */
function drawSenders(random: Chances, members: readonly number[]): Partial<GroupOptions> {
  const kind = random.pick(['root', 'root', 'sender', 'total', 'total', 'total'] as const);
  if (kind !== 'root') {
    const some = random.shuffled(members).slice(0, random.integer(2, members.length));
    const senders = random.integer(0, 2) === 0 ? some : 'all';
    return { senders, order: kind, smallMessageBytes: random.pick([64, 1000, 8192]) };
  }
  return {
    algorithm: random.pick([
      'binomial-pipeline',
      'binomial-pipeline',
      'sequential',
      'chain',
      'binomial-tree',
    ]),
    blockBytes: random.pick(['auto', 4096, 16_384]),
    smallMessageBytes: random.pick([0, 1000, 8192, 8192]),
    ...(random.integer(0, 3) === 0 && { relay: 'device' }),
    ...(random.integer(0, 2) === 0 && {
      receive: { messages: random.integer(1, 8), byteLength: random.pick([20_000, 300_000]) },
    }),
  };
}

function drawHabits(random: Chances, { senders, smallMessageBytes }: GroupOptions): GroupHabits {
  const most = senders ? smallMessageBytes! : random.pick([2000, 30_000, 300_000]);
  return {
    sizes: Array.from({ length: random.integer(1, 9) }, () => random.integer(8, random.pick([64, most]))),
    burst: random.pick([1, 5, 60]),
    pauseMs: random.pick([0, 1, 5]),
    reads: random.pick(['each', 'batches']),
  };
}
