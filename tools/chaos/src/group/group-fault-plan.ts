import type { Chances } from '../random.js';
import type { Trap } from './group-messages.js';
import type { GroupScenario } from './group-scenarios.js';

/** When the first fault comes. */
export type Moment =
  /** The group is open. */
  | { readonly when: 'open' }
  /** A member has delivered so many messages. */
  | { readonly when: 'delivered'; readonly count: number }
  /** A member closes the group. */
  | { readonly when: 'closing' };

/** When what was stopped or cut goes on. */
export type Resumption = 'after a time' | 'when the others have ended' | 'never';

/** The connections of the mesh, or those of the soft device. */
export type Path = 'mesh' | 'data';

/** Which packets are lost: those between the two sets of members, or in one direction only. */
export interface Cut {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly isOneWay: boolean;
  readonly paths: readonly Path[];
}

/** The faults of a run. */
export interface GroupFault {
  readonly moment: Moment;
  /** Between that moment and the first fault. */
  readonly delayMs: number;
  /** Killed with kill -9, in this order. */
  readonly killed: readonly number[];
  /** Before each further kill; 0: at once. */
  readonly gapMs: number;
  /** Members that die when they hear that another one is lost. */
  readonly trapped: readonly { readonly member: number; readonly trap: Trap }[];
  /** The member that dies in the middle of a one-sided WRITE. */
  readonly torn: { readonly member: number; readonly afterBytes: number } | undefined;
  readonly stopped: readonly number[];
  readonly cut: Cut | undefined;
  /** How long a stop or a cut lasts. */
  readonly pauseMs: number;
  readonly resumption: Resumption;
}

/** What the choice of a fault depends on. */
interface Setting {
  /** The root first. */
  readonly members: readonly number[];
  readonly hasOneSender: boolean;
  readonly silenceTimeoutMs: number;
}

const LONGEST_DELAY_MS = 30;
/** Two kills in a row: most of an agreement takes less. */
const LONGEST_GAP_MS = 40;
/** Most deliveries before the first fault. */
const DELIVERIES = [50, 300, 1200] as const;

/** The faults of a scenario. */
export function drawFault(random: Chances, scenario: GroupScenario, setting: Setting): GroupFault {
  const none: GroupFault = {
    moment: drawMoment(random),
    delayMs: random.pick([0, random.integer(0, LONGEST_DELAY_MS)]),
    killed: [],
    gapMs: random.pick([0, random.integer(0, LONGEST_GAP_MS)]),
    trapped: [],
    torn: undefined,
    stopped: [],
    cut: undefined,
    pauseMs: random.integer(10, 3 * setting.silenceTimeoutMs + 10),
    resumption: 'after a time',
  };
  return { ...none, ...DRAWS[scenario](random, setting) };
}

function drawMoment(random: Chances): Moment {
  const when = random.pick(['open', 'delivered', 'delivered', 'closing'] as const);
  return when === 'delivered' ? { when, count: random.integer(1, random.pick(DELIVERIES)) } : { when };
}

type Draw = (random: Chances, setting: Setting) => Partial<GroupFault>;

const DRAWS: Record<GroupScenario, Draw> = {
  'group-calm': () => ({}),
  'group-member': (random, { members }) => ({ killed: [random.pick(members)] }),
  'group-root': (_, { members }) => ({ killed: [members[0]!] }),
  'group-members': (random, { members }) => ({ killed: someOf(random, members, 2) }),
  'group-agreement': drawAgreement,
  'group-torn': drawTorn,
  'group-minority': (random, { members }) => {
    const least = Math.ceil(members.length / 2);
    return { killed: random.shuffled(members).slice(0, random.integer(least, members.length - 1)) };
  },
  'group-stopped': drawStopped,
  'group-cut': (random, { members }) => drawCut(random, members, { from: [random.pick(members)] }),
  'group-partition': (random, { members }) => drawCut(random, members, { from: partOf(random, members) }),
  'group-one-way': (random, { members }) => {
    const part = random.pick([[random.pick(members)], partOf(random, members)]);
    const isReversed = random.integer(0, 1) === 1;
    return drawCut(random, members, { from: isReversed ? others(members, part) : part, isOneWay: true });
  },
  'group-path': (random, { members }) => {
    const from = random.pick([[random.pick(members)], partOf(random, members)]);
    const path = random.pick(['mesh', 'data'] as const);
    return drawCut(random, members, { from, isOneWay: random.integer(0, 3) === 0, paths: [path] });
  },
};

/** In half of the cases the root and those that lead after it. */
function someOf(random: Chances, members: readonly number[], count: number): number[] {
  return random.integer(0, 1) === 1 ? members.slice(0, count) : random.shuffled(members).slice(0, count);
}

function partOf(random: Chances, members: readonly number[]): number[] {
  return random.shuffled(members).slice(0, random.integer(1, members.length - 1));
}

function others(members: readonly number[], part: readonly number[]): number[] {
  return members.filter((member) => !part.includes(member));
}

/** A member is killed; one or two others die as soon as they hear of that, often in the middle of a row of the table. */
function drawAgreement(random: Chances, { members }: Setting): Partial<GroupFault> {
  const [first, ...next] = someOf(random, members, random.integer(2, members.length > 4 ? 3 : 2));
  const trapOf = (): Trap =>
    random.integer(0, 1) === 1
      ? { turns: random.integer(0, 12) }
      : { tornAfterBytes: random.integer(0, 64 * (2 * members.length)) };
  return { killed: [first!], trapped: next.map((member) => ({ member, trap: trapOf() })) };
}

/** Messages of blocks are not sent by WRITEs, but counts are. */
function drawTorn(random: Chances, { members, hasOneSender }: Setting): Partial<GroupFault> {
  const member = hasOneSender ? random.pick(members.slice(1)) : random.pick(members);
  const torn = { member, afterBytes: random.integer(0, random.pick([200, 2000, 20_000])) };
  return { torn, moment: { when: 'delivered', count: 500 } };
}

function drawStopped(random: Chances, { members }: Setting): Partial<GroupFault> {
  const stopped = someOf(random, members, members.length > 3 ? random.pick([1, 1, 2]) : 1);
  const isFatal = random.integer(0, 3) === 0;
  return {
    stopped,
    killed: isFatal ? [random.pick(others(members, stopped))] : [],
    resumption: random.pick(['after a time', 'after a time', 'when the others have ended']),
  };
}

function drawCut(
  random: Chances,
  members: readonly number[],
  cut: Pick<Cut, 'from'> & Partial<Cut>,
): Partial<GroupFault> {
  const isFatal = random.integer(0, 4) === 0;
  return {
    cut: { to: others(members, cut.from), isOneWay: false, paths: ['mesh', 'data'], ...cut },
    killed: isFatal ? [random.pick(members)] : [],
    resumption: random.pick(['after a time', 'after a time', 'when the others have ended', 'never']),
  };
}
