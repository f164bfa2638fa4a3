import { settledWithin } from '@rdmc/common';
import { has, setOf, union } from './ranks.js';
import { RowViolation, type StableTable } from './stable-table.js';
import { type Outcome, type Row, SurvivorRules, type SurvivorSetting } from './survivor-rules.js';

/** How the agreement of the survivors has ended at this member. */
export type StableEnd = Exclude<Outcome, 'open' | 'agreeing'>;

/** The functions of the group that its stable delivery calls. */
export interface StablePort {
  /** All members have so many messages. */
  stable(count: number): void;
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

/**
 * Stable delivery at one member, in the application's thread: says what all members have, from the counts in the table, and
 * applies the rules of the survivors when a member fails.
 */
export class StableDelivery {
  readonly #rules: SurvivorRules;
  /** The other receivers. */
  readonly #counting: readonly number[];
  #received = 0;
  #stable = 0;
  /** Ranks that this member itself has lost. */
  #lost = 0;
  #state: 'open' | 'agreeing' | 'ended' = 'open';
  #isSettling = false;

  constructor(
    private readonly table: StableTable,
    private readonly setting: SurvivorSetting,
    private readonly port: StablePort,
  ) {
    this.#rules = new SurvivorRules(setting);
    const { members, rank } = setting;
    const receivers = Array.from({ length: members - 1 }, (_, index) => index + 1);
    this.#counting = rank === 0 ? [] : receivers.filter((each) => each !== rank);
  }

  /** This receiver has so many messages whole and in order. */
  received(count: number): void {
    if (this.#state !== 'open') return;
    this.#received = count;
    if (this.#counting.length > 0 && this.table.writeCount(count)) this.port.kick();
    this.#advance();
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

  /** The group has failed: from now on the row does not count any more. @param received the root: messages that it has numbered */
  wedge(received: number): void {
    this.#received = received;
    this.#state = 'agreeing';
    this.#guard(() => this.#agree());
  }

  /** Every member has all `total` messages: a member that fails from now on does not change that. */
  conclude(total: number): void {
    this.#state = 'ended';
    this.#write(this.#rules.concluded(total));
  }

  /** Waits until the members that need this member's row have it, `timeoutMs` at most. */
  async settle(timeoutMs: number): Promise<void> {
    this.#isSettling = true;
    await settledWithin(this.#settle(), timeoutMs);
    this.#isSettling = false;
  }

  #advance(): void {
    let stable = this.#received;
    for (const rank of this.#counting) stable = Math.min(stable, this.table.countOf(rank));
    if (stable === this.#stable) return;
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
  return (Object.keys(one) as (keyof Row)[]).every((key) => one[key] === other[key]);
}
