import { settledWithin } from '@rdmc/common';
import { has, setOf, union } from './ranks.js';
import { RowViolation, type StableTable } from './stable-table.js';
import { type Outcome, type Row, SurvivorRules, type SurvivorSetting, sameCounts } from './survivor-rules.js';

/** How the agreement of the survivors has ended at this member. */
export type StableEnd = Exclude<Outcome, 'open' | 'agreeing'>;

/** The functions of the group that its stable delivery calls. */
export interface StablePort {
  /** All members have so many messages of each sender. */
  stable(counts: readonly number[]): void;
  /** Numbers that this member has given as a sender. */
  numbered(): number;
  /** Another member has stopped. `row`: what it knows. */
  stopped(rank: number, row: Row): void;
  /** The survivors have agreed, or this member is not one of them. */
  ended(end: StableEnd, row: Row): void;
  /** The member of that rank wrote an impossible row. */
  violated(rank: number, reason: string): void;
  /** Notifies the worker of a change of the row. */
  kick(): void;
  /** Resolves when the other members have the row, except for those at the links of the set. */
  settle(skippedLinks: number): Promise<void>;
}

/** Who counts the messages of whom. */
export interface CountingSetting extends SurvivorSetting {
  /** Ranks of the senders. */
  readonly senders: readonly number[];
  /** This member delivers messages, and so has counts. */
  readonly counts: boolean;
  /** Senders receive their own messages, and so count them like others. */
  readonly ownToo: boolean;
}

/**
 * Stable delivery at one member, in the application's thread: says what all members have, from the counts in the table, and
 * applies the rules of the survivors when a member fails.
 */
export class StableDelivery {
  readonly #rules: SurvivorRules;
  /** By sender: ranks of the other members that count its messages. */
  readonly #counting: readonly (readonly number[])[];
  #received: readonly number[];
  #stable: readonly number[];
  /** Ranks that this member itself has lost. */
  #lost = 0;
  #state: 'open' | 'agreeing' | 'ended' = 'open';
  #isSettling = false;

  constructor(
    private readonly table: StableTable,
    private readonly setting: CountingSetting,
    private readonly port: StablePort,
  ) {
    this.#rules = new SurvivorRules(setting);
    const { members, rank, senders, counts, ownToo } = setting;
    const others = Array.from({ length: members }, (_, each) => each).filter((each) => each !== rank);
    this.#counting = senders.map((sender) =>
      counts ? others.filter((each) => ownToo || each !== sender) : [],
    );
    this.#received = senders.map(() => 0);
    this.#stable = this.#received;
  }

  /** This member has so many messages of each sender whole and in order. */
  received(counts: readonly number[]): void {
    if (this.#state !== 'open') return;
    if (!sameCounts(counts, this.#received)) {
      this.#received = [...counts];
      const isAwaited = this.#counting.some((ranks) => ranks.length > 0);
      if (isAwaited && this.table.writeCounts(counts)) this.port.kick();
    }
    this.#guard(() => this.#advance());
  }

  /** Rows of other members may have changed. */
  look(): void {
    this.table.beginLook();
    this.#guard(() => {
      if (this.#state === 'open') this.#advance();
      if (this.table.hasNews) this.#read();
    });
  }

  /** A member is lost. Once the group has stopped, this can change what the survivors agree on. */
  lose(rank: number): void {
    this.#lost = union(this.#lost, setOf(rank));
    if (this.#state === 'agreeing') this.#guard(() => this.#agree());
  }

  /** Whether the member of that rank is suspected here. */
  suspects(rank: number): boolean {
    return has(union(this.#lost, this.table.own.suspected), rank);
  }

  /**
   * The group has failed: from now on the row does not count any more.
   * @param received by sender; its own: messages that it has numbered
   */
  wedge(received: readonly number[]): void {
    this.#received = received;
    this.#state = 'agreeing';
    this.#guard(() => this.#agree());
  }

  /** Every member has all messages, `totals` by sender: a member that fails from now on does not change that. */
  conclude(totals: readonly number[]): void {
    this.#state = 'ended';
    this.#write(this.#rules.concluded(totals));
  }

  /** Waits until the members that need this member's row have it, `timeoutMs` at most. */
  async settle(timeoutMs: number): Promise<void> {
    this.#isSettling = true;
    await settledWithin(this.#settle(), timeoutMs);
    this.#isSettling = false;
  }

  #advance(): void {
    const { senders, rank: own } = this.setting;
    const stable = this.#received.map((count, sender) => {
      const sent = senders[sender] === own ? this.port.numbered() : undefined;
      let least = count;
      for (const rank of this.#counting[sender]!)
        least = Math.min(least, this.table.countOf(rank, sender, sent));
      return least;
    });
    if (sameCounts(stable, this.#stable)) return;
    this.#stable = stable;
    this.port.stable(stable);
  }

  #read(): void {
    const rows = this.table.rows();
    if (this.#isSettling) this.#settle().catch(() => {});
    if (this.#state === 'agreeing') this.#agree();
    if (this.#state !== 'open') return;
    const rank = rows.findIndex((row) => row.isWedged);
    if (rank !== -1) this.port.stopped(rank, rows[rank]!);
  }

  #agree(): void {
    const { own } = this.table;
    const row = this.#rules.look({ rows: this.table.rows(), lost: this.#lost, received: this.#received });
    if (row !== own && !isSame(row, own)) this.#write(row);
    const outcome = this.#rules.outcome(row);
    if (outcome === 'open' || outcome === 'agreeing') return;
    this.#state = 'ended';
    this.port.ended(outcome, row);
  }

  #write(row: Row): void {
    if (this.table.writeState(row)) this.port.kick();
  }

  /** Members that are suspected, or have the decision, do not need this member's row. */
  async #settle(): Promise<void> {
    const { rank } = this.setting;
    const rows = this.table.rows();
    const done = rows.flatMap((row, each) => (row.isDecided || this.suspects(each) ? [each] : []));
    const others = done.filter((each) => each !== rank);
    await this.port.settle(setOf(...others.map((each) => (each < rank ? each : each - 1))));
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof RowViolation)) throw error;
      this.port.violated(error.rank, error.message);
    }
  }
}

function isSame(one: Row, other: Row): boolean {
  const { received, trim, ...rest } = one;
  const isSameRest = (Object.keys(rest) as (keyof typeof rest)[]).every((key) => one[key] === other[key]);
  return isSameRest && sameCounts(received, other.received) && sameCounts(trim, other.trim);
}
