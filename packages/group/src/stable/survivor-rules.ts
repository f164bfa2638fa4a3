/*
 * What the survivors of a group with stable delivery do when a member fails. Pure: no I/O.
 *
 * Sources. Delivery once every receiver has the message, found in a replicated status table, and a leader-based clean-up after
 * a failure, "again based on a one-sided RDMA write protocol", are named in RDMC (Behrens et al., DSN 2018, section 4.6), for
 * Derecho (Jha et al., "Building smart memories and cloud services with Derecho", 2017): wedge, ragged trim, leader by rank.
 * The papers leave open what happens if a leader fails in the middle of it, or was suspected wrongly. Here the trim is agreed
 * on as one value of Paxos (Lamport, "The Part-Time Parliament", 1998), with one ballot for each leader:
 *
 *   ballot        rank of the leader + 1. A leader proposes once.
 *   promise       a row that suspects every member below rank r. Suspicion is never taken back, and a member accepts only from
 *                 the lowest rank that it does not suspect. So it does not accept from a rank below r any more.
 *   value         { trim, excluded }. A leader takes the value with the highest ballot that it sees. If it sees none, trim is,
 *                 for each sender, the minimum of what the members that it does not suspect have received from it.
 *   decision      a majority of all members has accepted one ballot.
 *
 * Counts and trim have one number for each sender: one in a group of one sender. In the order 'total', numbers that were skipped
 * are received like others.
 *
 * Why the trim fits. All rows that a leader counts are wedged, so they do not change. A member delivers message m only when
 * all rows count it; so each wedged row counts it too, and the trim is above m. And every member that is not excluded has
 * received at least `trim` messages, as the trim is the minimum of just these rows.
 *
 *    row of member 1   open ──▶ wedged, suspects {3} ──▶ ballot 1, trim 5, excluded {3} ──▶ decided
 *                                │ all that leader 0 does not suspect are wedged: it proposes
 */
import { contains, has, ranksBelow, ranksOf, setOf, union, without } from './ranks.js';

/** The row of a member in the table, as one look reads it. */
export interface Row {
  /** The member suspects another one, and its row does not count any more. */
  readonly isWedged: boolean;
  /** By sender: numbers that the member has whole, in order; a sender has all that it has given. */
  readonly received: readonly number[];
  /** Set of the ranks that the member suspects. */
  readonly suspected: number;
  /** The ballot that the member has accepted; 0: none. */
  readonly ballot: number;
  /** Of that ballot, by sender: so many numbers are delivered. */
  readonly trim: readonly number[];
  /** Of that ballot: set of the ranks that do not belong to the survivors. */
  readonly excluded: number;
  /** `trim` and `excluded` are decided. */
  readonly isDecided: boolean;
}

/** A row before anything happened, in a group of so many senders. */
export function openRow(senders = 1): Row {
  const none = new Array<number>(senders).fill(0);
  const sets = { suspected: 0, ballot: 0, excluded: 0 };
  return { isWedged: false, received: none, trim: none, ...sets, isDecided: false };
}

/** Whether the counts of every sender are at least those of the other list. */
export function covers(counts: readonly number[], least: readonly number[]): boolean {
  return counts.length === least.length && counts.every((count, sender) => count >= least[sender]!);
}

/** Whether the counts of every sender are the same. */
export function sameCounts(one: readonly number[], other: readonly number[]): boolean {
  return covers(one, other) && covers(other, one);
}

/** How many members may agree: a majority of all; or those that are left, however few. */
export type Quorum = 'majority' | 'none';

export interface SurvivorSetting {
  /** Members of the group: 2 to 32. */
  readonly members: number;
  /** Rank of this member. */
  readonly rank: number;
  readonly quorum: Quorum;
}

/** What a member sees when it looks. */
export interface View {
  /** The rows of all members by rank, its own included. */
  readonly rows: readonly Row[];
  /** Set of the ranks that this member itself has found to be lost. */
  readonly lost: number;
  /** By sender: numbers that this member has whole, in order. */
  readonly received: readonly number[];
}

/**
 * `open`: no member is suspected. `agreed`: the row has the decision, and this member is a survivor. `excluded`: the others do not
 * count this member. `minority`: those that this member does not suspect are too few.
 */
export type Outcome = 'open' | 'agreeing' | 'agreed' | 'excluded' | 'minority';

/** The rules of one member. Wrong variants override the protected methods, in tests. */
export class SurvivorRules {
  protected readonly everybody: number;

  constructor(protected readonly setting: SurvivorSetting) {
    this.everybody = ranksBelow(setting.members);
  }

  /** This member's row after a look. Write it to all members if it has changed, and look again when another row changes. */
  look(view: View): Row {
    const { rows } = view;
    const own = rows[this.setting.rank]!;
    if (own.isDecided) return own;
    const row = this.#wedged(own, view);
    if (!row.isWedged) return this.#decided(row, rows) ?? row;
    const seen = rows.with(this.setting.rank, row);
    const decided = this.#decided(row, seen);
    if (decided !== undefined || this.outcome(row) !== 'agreeing') return decided ?? row;
    const voted = this.#voted(row, seen);
    return this.#decided(voted, seen.with(this.setting.rank, voted)) ?? voted;
  }

  /** What this member's row means for it. */
  outcome(row: Row): Outcome {
    const { rank } = this.setting;
    if (row.isDecided) return has(row.excluded, rank) ? 'excluded' : 'agreed';
    if (!row.isWedged) return 'open';
    if (has(row.suspected, rank)) return 'excluded';
    return ranksOf(this.#alive(row)).length < this.quorumSize ? 'minority' : 'agreeing';
  }

  /** The row with which a member leaves that knows that every member has all messages: `totals` by sender. */
  concluded(totals: readonly number[]): Row {
    const row = openRow(totals.length);
    return { ...row, isWedged: true, received: totals, trim: totals, isDecided: true };
  }

  /** How many members have to be left. */
  protected get quorumSize(): number {
    const { members, quorum } = this.setting;
    return quorum === 'none' ? 1 : Math.floor(members / 2) + 1;
  }

  /** The count that a wedged row keeps. */
  protected frozen(own: Row, received: readonly number[]): readonly number[] {
    return own.isWedged ? own.received : received;
  }

  /** The trim of a leader that sees none: what all survivors have. */
  protected trimOf(survivors: readonly Row[], _rows: readonly Row[]): readonly number[] {
    return perSender(survivors, Math.min);
  }

  /** The accepted value with the highest ballot, if the leader sees one. */
  protected acceptedValue(rows: readonly Row[]): Row | undefined {
    const accepted = rows.filter(({ ballot }) => ballot > 0);
    return accepted.sort((one, other) => other.ballot - one.ballot)[0];
  }

  /** Whether a row keeps its count, and its member does not accept from a leader below this member any more. */
  protected promises(row: Row): boolean {
    return row.isWedged && contains(row.suspected, ranksBelow(this.setting.rank));
  }

  #alive({ suspected }: Row): number {
    return without(this.everybody, suspected);
  }

  /** The row with the suspicions of all members that are not suspected themselves; wedged if there are some. */
  #wedged(own: Row, { rows, lost, received }: View): Row {
    let suspected = union(own.suspected, lost);
    for (const [rank, row] of rows.entries()) {
      if (!has(suspected, rank)) suspected = union(suspected, row.suspected);
    }
    const counted = this.frozen(own, received);
    return { ...own, suspected, isWedged: suspected !== 0, received: counted };
  }

  /** The row with the decision, if the rows show one. */
  #decided(own: Row, rows: readonly Row[]): Row | undefined {
    const from = rows.find(
      (row) => row.isDecided || (row.ballot > 0 && this.#isChosen(row.ballot, own, rows)),
    );
    if (from === undefined) return undefined;
    const { trim, excluded } = from;
    const ballot = Math.max(own.ballot, from.ballot);
    return { ...own, isWedged: true, ballot, trim, excluded, isDecided: true };
  }

  /** Whether enough members have accepted that ballot. A member that accepted and was lost afterwards counts. */
  #isChosen(ballot: number, own: Row, rows: readonly Row[]): boolean {
    const accepted = setOf(...rows.flatMap((row, rank) => (row.ballot === ballot ? [rank] : [])));
    if (this.setting.quorum === 'none') return contains(accepted, this.#alive(own));
    return ranksOf(accepted).length >= this.quorumSize;
  }

  /** The row with the vote for the leader's value, if there is one; the leader's own value, if this member is the leader. */
  #voted(own: Row, rows: readonly Row[]): Row {
    const { rank } = this.setting;
    const leader = ranksOf(this.#alive(own))[0]!;
    const ballot = leader + 1;
    if (own.ballot >= ballot) return own;
    if (leader !== rank) {
      const { trim, excluded } = rows[leader]!;
      return rows[leader]!.ballot === ballot ? { ...own, ballot, trim, excluded } : own;
    }
    const survivors = ranksOf(this.#alive(own)).map((each) => rows[each]!);
    if (!survivors.every((row) => this.promises(row))) return own;
    const known = this.acceptedValue(rows);
    const { trim, excluded } = known ?? { trim: this.trimOf(survivors, rows), excluded: own.suspected };
    return { ...own, ballot, trim, excluded };
  }
}

/** The least, or another choice, of what the rows have received, for each sender. */
export function perSender(rows: readonly Row[], choose: (...counts: number[]) => number): readonly number[] {
  return rows[0]!.received.map((_, sender) => choose(...rows.map(({ received }) => received[sender]!)));
}
