import { type Cause, causesOf } from './causes.js';
import { NONE, TraceKind, TraceProtocol } from './layout.js';
import type { TraceEvent } from './records.js';
import { type WaitReason, type WaitSpan, waitSpans } from './wait-spans.js';

/** Time that a member waited for one thing of one peer. */
export interface MemberWait {
  /** Of the peer: a block, its announcement of a receive, or the completion of a send to it; or its own application. */
  readonly reason: Exclude<WaitReason, 'nothing'>;
  /** Null for 'application'. */
  readonly peer: number | null;
  /** Nanoseconds. */
  readonly ns: number;
  /** Of the member's waiting, 0 to 1. */
  readonly share: number;
}

/** One member of a trace. Times add over its groups, channels and logs. */
export interface MemberDelays {
  /** Its id. */
  readonly member: number;
  /** Nanoseconds in which it waited for something. */
  readonly waitingNs: number;
  /** The longest first. */
  readonly waits: readonly MemberWait[];
  /** Blocks, slots and batches of small messages that arrived. */
  readonly blocksReceived: number;
  /** The same, whose sending has completed; and appends, counted for each backup. */
  readonly blocksSent: number;
  /** First blocks that were copied into their places. */
  readonly firstBlockCopies: number;
  /** How often its worker was woken. */
  readonly wakeUps: number;
}

/** When the receivers of a message had its last block. */
export interface MessageSkew {
  /** Id of the group. */
  readonly group: number;
  /** Number of the message, from 0. */
  readonly message: number;
  /** The receiver that had it first. */
  readonly first: number;
  /** The receiver that had it last. */
  readonly last: number;
  /** Nanoseconds between them. */
  readonly ns: number;
}

/** Who delays whom. */
export interface TraceSummary {
  /** Nanoseconds from the first record to the last one. */
  readonly ns: number;
  /** Records that say what happened. */
  readonly records: number;
  /** In ascending order. */
  readonly members: readonly MemberDelays[];
  /** What the waiting came down to, the largest first: sampled, so that shares below 0.1% may be missing. */
  readonly causes: readonly Cause[];
  /**
   * The member, or the two members of a link, with most of the causes; null if nobody waited. A link stands for itself
   * if it has four fifths of what its members have with all their links.
   */
  readonly slowest: { readonly members: readonly number[]; readonly share: number } | null;
  /** Messages of groups with at least two receivers in the trace, in the order of their ends. */
  readonly skews: readonly MessageSkew[];
}

/** A link that has this part of its member's causes is named itself. */
const OWN_LINK = 0.8;

/** Evaluates a trace; those of several hosts must be on one clock. */
export function summarise(events: readonly TraceEvent[]): TraceSummary {
  const spans = waitSpans(events);
  const causes = causesOf(events, spans);
  const happened = events.filter(({ kind }) => kind !== TraceKind.NAME);
  const ids = [...new Set(happened.map(({ member }) => member))].filter((id) => id !== NONE);
  let [begin, end] = [Number.POSITIVE_INFINITY, 0];
  for (const { time } of happened) {
    begin = Math.min(begin, time);
    end = Math.max(end, time);
  }
  return {
    ns: Math.max(0, end - begin),
    records: happened.length,
    members: membersOf(
      events,
      ids.sort((a, b) => a - b),
      [...spans.values()].flat(),
    ),
    causes,
    slowest: slowestOf(causes),
    skews: skewsOf(events),
  };
}

interface Counts {
  received: number;
  sent: number;
  copies: number;
  wakeUps: number;
}

const COUNTED = new Map<number, keyof Counts>([
  [TraceKind.RECEIVED, 'received'],
  [TraceKind.SEND_FINISHED, 'sent'],
  [TraceKind.COPIED, 'copies'],
  [TraceKind.WAKE_UP, 'wakeUps'],
]);

function membersOf(events: readonly TraceEvent[], ids: readonly number[], spans: readonly WaitSpan[]) {
  const counts = new Map<number, Counts>(
    ids.map((id) => [id, { received: 0, sent: 0, copies: 0, wakeUps: 0 }]),
  );
  for (const { kind, member } of events) {
    const field = COUNTED.get(kind);
    // A record may name no member: a file can have any bytes.
    const count = counts.get(member);
    if (field && count) count[field] += 1;
  }
  return ids.map((member): MemberDelays => {
    const { received, sent, copies, wakeUps } = counts.get(member)!;
    const waits = waitsOf(spans.filter((span) => span.member === member));
    const waitingNs = waits.reduce((sum, { ns }) => sum + ns, 0);
    const counted = { blocksReceived: received, blocksSent: sent, firstBlockCopies: copies, wakeUps };
    return { member, waitingNs, waits, ...counted };
  });
}

function waitsOf(spans: readonly WaitSpan[]): MemberWait[] {
  const sums = new Map<string, { reason: MemberWait['reason']; peer: number | null; ns: number }>();
  let all = 0;
  for (const { reason, peer, from, to } of spans) {
    if (reason === 'nothing') continue;
    const sum = sums.get(`${reason} ${peer}`) ?? { reason, peer, ns: 0 };
    sum.ns += to - from;
    all += to - from;
    sums.set(`${reason} ${peer}`, sum);
  }
  return [...sums.values()].map((sum) => ({ ...sum, share: sum.ns / all })).sort((a, b) => b.ns - a.ns);
}

function slowestOf(causes: readonly Cause[]): TraceSummary['slowest'] {
  const shares = new Map<number, number>();
  for (const { members, share } of causes) {
    for (const member of members) shares.set(member, (shares.get(member) ?? 0) + share);
  }
  const [first] = [...shares].sort(([, a], [, b]) => b - a);
  if (!first) return null;
  const [member, share] = first;
  const link = causes.find(({ kind, members }) => kind === 'link' && members.includes(member));
  if (link && link.share >= OWN_LINK * share) return { members: link.members, share: link.share };
  return { members: [member], share };
}

/** The root of a message receives nothing of it. */
function skewsOf(events: readonly TraceEvent[]): MessageSkew[] {
  const ends = new Map<string, { group: number; message: number; at: Map<number, number> }>();
  for (const { kind, protocol, group, message, member, time } of events) {
    if (kind !== TraceKind.RECEIVED || protocol !== TraceProtocol.GROUP) continue;
    const name = `${group}/${message}`;
    const end = ends.get(name) ?? { group, message, at: new Map<number, number>() };
    end.at.set(member, Math.max(end.at.get(member) ?? 0, time));
    ends.set(name, end);
  }
  const whole = [...ends.values()].filter(({ at }) => at.size > 1);
  return whole.map(({ group, message, at }) => {
    const order = [...at].sort(([, a], [, b]) => a - b);
    const [[first, begin], [last, end]] = [order[0]!, order.at(-1)!];
    return { group, message, first, last, ns: end - begin };
  });
}
