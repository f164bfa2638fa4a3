import { type Claim, compareClaims } from './claim.js';
import type { MemberEvent } from './member-event.js';
import { Roster, type RosterDelta, type RosterEntry, type RosterLimits, type RosterMark } from './roster.js';
import { type Cause, type Epoch, Timeline } from './timeline.js';

/** Why a process is refused or has to stop. */
export interface Verdict {
  readonly code:
    | 'ERR_RDMC_REPLACED'
    | 'ERR_RDMC_ID_IN_USE'
    | 'ERR_RDMC_MESH_EVICTED'
    /** A later connection with the same process is in use, or was; the caller may make another. */
    | 'ERR_RDMC_MESH_UNREACHABLE';
  /** The process that has the id. */
  readonly holder?: RosterEntry | undefined;
}

/** What the machine makes the member do. Each call happens before the next one of the machine. */
export interface MembershipPort {
  /**
   * Closes the connection in use with a peer, and everything that belongs to it: queued frames, pending requests, further
   * connections. `event` says why; it is announced afterwards. With a verdict, the peer is told it.
   */
  disconnect(event: MemberEvent, verdict: Verdict | undefined): void;
  announce(event: MemberEvent): void;
  /** The peer is known and not connected: attempts to reach it begin, or go on at this address. */
  reach(entry: RosterEntry): void;
  /** Attempts to reach the peer end. */
  forget(peer: number): void;
  /** Tells the peers that are connected. */
  tell(news: RosterDelta, but?: number): void;
  /** This process does not have its id any more. */
  stop(verdict: Verdict): void;
}

export interface MembershipLimits extends RosterLimits {
  /** Lost members that are kept; beyond it the one that was lost first is removed. */
  readonly lost: number;
}

/**
 * What one member knows of the others, and the rules of joining, losing and leaving. It has no I/O and no clock: a port acts
 * for it, real sockets or the simulated ones of the model.
 */
export class Membership {
  readonly roster: Roster;
  protected readonly timelines = new Map<number, Timeline>();
  /** In the order in which they were lost. */
  protected readonly missing = new Set<number>();

  constructor(
    readonly self: RosterEntry,
    protected readonly port: MembershipPort,
    private readonly limits: MembershipLimits,
  ) {
    this.roster = new Roster(limits);
    this.roster.offer(self);
  }

  get lost(): ReadonlySet<number> {
    return this.missing;
  }

  currentOf(id: number): Epoch | undefined {
    return this.timelines.get(id)?.current;
  }

  nextEpoch(id: number): number {
    return this.timelineOf(id).nextEpoch();
  }

  /** Why a connection with this process cannot be used; undefined: it can. */
  judge(entry: RosterEntry, epoch: number): Verdict | undefined {
    const verdict = this.judgeClaim(entry);
    if (verdict !== undefined) return verdict;
    const isLater = this.timelines.get(entry.id)?.admits({ ...claimOf(entry), epoch }) ?? true;
    return isLater ? undefined : { code: 'ERR_RDMC_MESH_UNREACHABLE' };
  }

  /** Why this process cannot be the member with its id; undefined: it can, as far as this member knows. */
  judgeClaim(entry: RosterEntry): Verdict | undefined {
    if (this.roster.isRetired(entry.id, entry.incarnation)) return EVICTED;
    const known = this.roster.get(entry.id);
    if (known === undefined || compareClaims(entry, known) >= 0) return undefined;
    return { code: 'ERR_RDMC_REPLACED', holder: known };
  }

  /** A connection is complete. `judge` has accepted it, and nothing has happened since. */
  connected(entry: RosterEntry, epoch: number): void {
    this.endOlder(entry, { ...claimOf(entry), epoch });
    this.roster.offer(entry);
    this.missing.delete(entry.id);
    this.port.forget(entry.id);
    this.port.announce(this.timelineOf(entry.id).joined({ ...claimOf(entry), epoch }));
  }

  /** A connection has ended. One that is not in use any more has been reported. */
  closed(id: number, connection: Epoch, cause: Cause): void {
    const timeline = this.timelines.get(id);
    if (!timeline?.isCurrent(connection)) return;
    this.ends(timeline.lost(cause));
    this.miss(id);
  }

  /** A peer says that it leaves. */
  leaves(id: number, connection: Epoch): void {
    if (!this.timelines.get(id)?.isCurrent(connection)) return;
    this.retire({ id, incarnation: connection.incarnation }, undefined);
  }

  /**
   * A process asks to be a member, or shows that it still is one. This member tells the others of it.
   * @param replace whether it takes the id also from a process that answers
   */
  introduce(entry: RosterEntry, replace: boolean): Verdict | undefined {
    const verdict = this.judgeClaim(entry);
    if (verdict !== undefined) return verdict;
    const known = this.roster.get(entry.id);
    const isOther = known !== undefined && known.instance !== entry.instance;
    if (isOther && !replace && this.answers(entry.id)) return { code: 'ERR_RDMC_ID_IN_USE', holder: known };
    const news = { entries: [entry], marks: [] };
    if (this.roster.accepts(entry)) this.port.tell(news, entry.id);
    this.learnEntry(entry);
    return undefined;
  }

  /** Another member's roster, or a part of it. Only the member that introduced a newcomer tells the others. */
  learn({ entries, marks }: RosterDelta): void {
    for (const mark of marks) this.learnMark(mark);
    for (const entry of entries) this.learnEntry(entry);
  }

  /** Removes a member: it is not reached for any more, and has to join again with a higher incarnation. */
  remove(id: number): boolean {
    const known = this.roster.get(id);
    if (known === undefined) return false;
    const mark = { id, incarnation: known.incarnation };
    this.port.tell({ entries: [], marks: [mark] }, id);
    this.retire(mark, EVICTED);
    return true;
  }

  /** Whether the process that has an id is known to run. */
  protected answers(id: number): boolean {
    return id === this.self.id || this.currentOf(id) !== undefined;
  }

  protected learnMark(mark: RosterMark): void {
    if (mark.id !== this.self.id) this.retire(mark, EVICTED);
    else if (mark.incarnation >= this.self.incarnation) this.port.stop(EVICTED);
  }

  protected learnEntry(entry: RosterEntry): void {
    if (entry.id === this.self.id) {
      if (compareClaims(entry, this.self) > 0) this.port.stop({ code: 'ERR_RDMC_REPLACED', holder: entry });
      return;
    }
    if (!this.roster.accepts(entry)) return;
    this.endOlder(entry);
    this.roster.offer(entry);
    this.port.reach(entry);
  }

  /** Ends the connection in use with the same id, and reports it. */
  protected endOlder(entry: RosterEntry, next?: Epoch): void {
    const timeline = this.timelines.get(entry.id);
    const current = timeline?.current;
    if (timeline === undefined || current === undefined) return;
    const isReplaced = current.instance !== entry.instance;
    if (!isReplaced && next === undefined) return;
    const verdict: Verdict | undefined = isReplaced
      ? { code: 'ERR_RDMC_REPLACED', holder: entry }
      : undefined;
    this.ends(timeline.lost(isReplaced ? REPLACED : CONNECTED_AGAIN), verdict);
  }

  /** @param verdict what the process is told, where it is connected */
  protected retire(mark: RosterMark, verdict: Verdict | undefined): void {
    if (!this.roster.retire(mark)) return;
    const timeline = this.timelines.get(mark.id);
    const current = timeline?.current;
    if (timeline !== undefined && current !== undefined && current.incarnation <= mark.incarnation) {
      this.ends(timeline.left(), verdict);
    }
    if (this.roster.get(mark.id) !== undefined) return;
    this.missing.delete(mark.id);
    this.timelines.delete(mark.id);
    this.port.forget(mark.id);
  }

  /** The peer stays a member: it is reached for until it comes back or is removed. */
  protected miss(id: number): void {
    const entry = this.roster.get(id);
    if (entry === undefined) return;
    this.missing.add(id);
    this.port.reach(entry);
    const [first] = this.missing;
    if (this.missing.size > this.limits.lost) this.remove(first!);
  }

  /** First everything of the connection ends, then its end is announced. */
  protected ends(event: MemberEvent | undefined, verdict?: Verdict): void {
    if (event === undefined) return;
    this.port.disconnect(event, verdict);
    this.port.announce(event);
  }

  protected timelineOf(id: number): Timeline {
    let timeline = this.timelines.get(id);
    if (timeline === undefined) {
      timeline = new Timeline(id);
      this.timelines.set(id, timeline);
    }
    return timeline;
  }
}

const EVICTED: Verdict = { code: 'ERR_RDMC_MESH_EVICTED' };
const REPLACED: Cause = { code: 'ERR_RDMC_REPLACED', reason: 'a newer process has its id' };
const CONNECTED_AGAIN: Cause = {
  code: 'ERR_RDMC_MESH_MEMBER_LOST',
  reason: 'it connected again, so its connection had ended there',
};

export function claimOf({ incarnation, instance }: Claim): Claim {
  return { incarnation, instance };
}
