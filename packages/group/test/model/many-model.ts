import type { ObjectModel } from '@rdmc/testing';
import { NO_HEAD, TotalRules } from '../../src/many/order-rules.js';
import { has } from '../../src/stable/ranks.js';
import {
  openRow,
  type Row,
  SurvivorRules,
  type SurvivorSetting,
  sameCounts,
} from '../../src/stable/survivor-rules.js';

/** What to try, and how: the rules, or one of their wrong variants. All members are senders. */
export interface ManySetting {
  /** Messages that each member sends. */
  readonly messages: readonly number[];
  /** Members that crash, at most. */
  readonly crashes?: number;
  /** Members that are suspected although they live, at most. */
  readonly mistakes?: number;
  readonly survivors?: new (setting: SurvivorSetting) => SurvivorRules;
  readonly order?: new () => TotalRules;
  /** A member goes on to receive and to deliver when it has stopped. */
  readonly countsOn?: boolean;
  /** A number that was skipped is delivered like a message. */
  readonly deliversSkipped?: boolean;
}

/** What a sender has done with a number. */
const Used = { MESSAGE: 'm', SKIPPED: 's' } as const;

/**
 * The members of a group of many senders with the order 'total': messages, skipped numbers, tables, crashes and wrong
 * suspicions. The rules are those of the product. A member looks whenever something arrives; rows arrive one by one.
 */
export class ManyModel implements ObjectModel {
  /** By sender: what its numbers are. */
  private readonly logs: string[];
  private readonly left: number[];
  /** By member and sender: numbers that have arrived. */
  private readonly have: number[][];
  /** By member, and by the member that wrote it. */
  private readonly rows: Row[][];
  private readonly delivered: string[][];
  private readonly ended: (string | undefined)[];
  private readonly lost: number[];
  private crashed = 0;
  private crashes: number;
  private mistakes: number;
  /** What some member has delivered, in order, and the number of messages that the survivors have agreed on. */
  private readonly order: string[] = [];
  private agreed = -1;
  private readonly survivors: readonly SurvivorRules[];
  private readonly rules: TotalRules;

  constructor(private readonly setting: ManySetting) {
    const { messages, crashes = 0, mistakes = 0 } = setting;
    const [Survivors, Order] = [setting.survivors ?? SurvivorRules, setting.order ?? TotalRules];
    const members = messages.length;
    const ofMembers = <T>(make: (rank: number) => T): T[] => Array.from(messages, (_, rank) => make(rank));
    this.logs = ofMembers(() => '');
    this.left = [...messages];
    this.have = ofMembers(() => ofMembers(() => 0));
    this.rows = ofMembers(() => ofMembers(() => openRow(members)));
    this.delivered = ofMembers(() => []);
    this.ended = ofMembers(() => undefined);
    this.lost = ofMembers(() => 0);
    this.crashes = crashes;
    this.mistakes = mistakes;
    // Frozen: they are not copied with the state.
    Object.freeze(setting);
    this.rules = Object.freeze(new Order());
    const quorum = 'majority';
    const survivors = ofMembers((rank) => new Survivors(Object.freeze({ members, rank, quorum })));
    for (const each of survivors) Object.freeze(each);
    this.survivors = Object.freeze(survivors);
  }

  key(): string {
    const counts = [this.crashed, this.crashes, this.mistakes, this.agreed];
    const parts = [this.logs, this.left, this.have, this.rows, this.delivered, this.ended, this.lost];
    return JSON.stringify([...parts, this.order, counts]);
  }

  done(): boolean {
    const total = this.setting.messages.reduce((sum, count) => sum + count, 0);
    const alive = this.alive;
    return (
      alive.every((rank) => this.ended[rank] !== undefined) ||
      alive.every((rank) => this.delivered[rank]!.length === total)
    );
  }

  steps(): string[] {
    const steps: string[] = [];
    for (const rank of this.running) {
      const isOpen = !this.row(rank).isWedged;
      if (isOpen && this.left[rank]! > 0) steps.push(`send ${rank}`);
      if (isOpen && this.owed(rank) > 0) steps.push(`skip ${rank}`);
      if (this.crashes > 0) steps.push(`crash ${rank}`);
      for (let other = 0; other < this.logs.length; other += 1) {
        if (other === rank) continue;
        const hasMore = this.have[rank]![other]! < this.logs[other]!.length;
        if (hasMore && (isOpen || this.setting.countsOn)) steps.push(`get ${rank} ${other}`);
        if (differ(this.rows[rank]![other]!, this.row(other))) steps.push(`row ${rank} ${other}`);
        if (this.maySuspect(rank, other)) steps.push(`suspect ${rank} ${other}`);
      }
    }
    return steps;
  }

  take(step: string): void {
    const [name, one, two] = step.split(' ');
    const [rank, other] = [Number(one), Number(two)];
    if (name === 'send') this.use(rank, Used.MESSAGE, 1);
    else if (name === 'skip') this.use(rank, Used.SKIPPED, this.owed(rank));
    else if (name === 'get') this.have[rank]![other]! += 1;
    else if (name === 'row') this.rows[rank]![other] = this.row(other);
    else if (name === 'suspect') this.suspect(rank, other);
    else {
      this.crashed |= 1 << rank;
      this.crashes -= 1;
      return;
    }
    this.look(rank);
  }

  private get alive(): number[] {
    return this.logs.flatMap((_, rank) => (has(this.crashed, rank) ? [] : [rank]));
  }

  /** Those that neither crashed nor ended. */
  private get running(): number[] {
    return this.alive.filter((rank) => this.ended[rank] === undefined);
  }

  private row(rank: number): Row {
    return this.rows[rank]![rank]!;
  }

  private owed(rank: number): number {
    const ends = this.have[rank]!.map(
      (count, sender) => this.logs[sender]!.slice(0, count).lastIndexOf(Used.MESSAGE) + 1,
    );
    return this.rules.owed(rank, this.logs[rank]!.length, ends);
  }

  private use(rank: number, used: string, count: number): void {
    this.logs[rank] += used.repeat(count);
    if (used === Used.MESSAGE) this.left[rank]! -= 1;
    this.have[rank]![rank] = this.logs[rank]!.length;
  }

  private maySuspect(rank: number, other: number): boolean {
    if (has(this.lost[rank]!, other) || this.ended[other] !== undefined) return false;
    return has(this.crashed, other) || this.mistakes > 0;
  }

  private suspect(rank: number, other: number): void {
    if (!has(this.crashed, other)) this.mistakes -= 1;
    this.lost[rank]! |= 1 << other;
  }

  private look(rank: number): void {
    const isOpen = !this.row(rank).isWedged || this.setting.countsOn;
    const received = [...this.have[rank]!];
    // While open, the row has the counts; the rules freeze them.
    if (isOpen && !sameCounts(this.row(rank).received, received)) {
      this.rows[rank]![rank] = { ...this.row(rank), received };
    }
    const row = this.survivors[rank]!.look({ rows: this.rows[rank]!, lost: this.lost[rank]!, received });
    if (differ(row, this.row(rank))) this.rows[rank]![rank] = row;
    if (!row.isWedged || this.setting.countsOn) this.deliver(rank, this.frontier(rank));
    const outcome = this.survivors[rank]!.outcome(row);
    if (outcome === 'open' || outcome === 'agreeing') return;
    if (outcome === 'agreed') this.agree(rank, row);
    this.ended[rank] = outcome;
  }

  /** What all members have, as far as this one sees. */
  private frontier(rank: number): number[] {
    const rows = this.rows[rank]!;
    return this.logs.map((_, sender) => Math.min(...rows.map(({ received }) => received[sender]!)));
  }

  private agree(rank: number, { trim }: Row): void {
    for (const [sender, count] of trim.entries()) {
      if (this.have[rank]![sender]! < count)
        throw new Error(`member ${rank} does not have what was agreed on`);
    }
    this.deliver(
      rank,
      this.logs.map(() => Number.POSITIVE_INFINITY),
      trim,
    );
    const { length } = this.delivered[rank]!;
    const expected = trim.reduce((sum, count, sender) => sum + this.messagesIn(sender, count), 0);
    if (length !== expected)
      throw new Error(`member ${rank} delivered ${length} messages, ${expected} were agreed on`);
    if (this.agreed !== -1 && this.agreed !== length)
      throw new Error(`${this.agreed} and ${length} were agreed on`);
    this.agreed = length;
  }

  private messagesIn(sender: number, count: number): number {
    return this.logs[sender]!.slice(0, count).replaceAll(Used.SKIPPED, '').length;
  }

  private deliver(rank: number, frontier: readonly number[], trim?: readonly number[]): void {
    const delivered = this.delivered[rank]!;
    for (;;) {
      const heads = this.logs.map((_, sender) => this.head(rank, sender, trim?.[sender]));
      const sender = this.rules.next(heads, frontier);
      if (sender === -1) return;
      const number = heads[sender]!;
      if (this.logs[sender]![number] === Used.SKIPPED)
        throw new Error(`member ${rank} delivered a skipped number`);
      const item = `${sender}:${number}`;
      const at = delivered.push(item) - 1;
      if (this.order[at] === undefined) this.order.push(item);
      else if (this.order[at] !== item) throw new Error(`${item} in place of ${this.order[at]}`);
    }
  }

  /** The first message of that sender that has arrived and was not delivered. */
  private head(rank: number, sender: number, trim = Number.POSITIVE_INFINITY): number {
    const items = new Set(this.delivered[rank]);
    const end = Math.min(this.have[rank]![sender]!, trim);
    for (let number = 0; number < end; number += 1) {
      const isDue = this.setting.deliversSkipped || this.logs[sender]![number] === Used.MESSAGE;
      if (isDue && !items.has(`${sender}:${number}`)) return number;
    }
    return NO_HEAD;
  }
}

function differ(one: Row, other: Row): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

/** Delivers what is stable, in the order in which it became so. */
export class ByArrival extends TotalRules {
  override next(heads: ArrayLike<number>, frontier: ArrayLike<number>): number {
    for (let sender = 0; sender < heads.length; sender += 1) {
      if (heads[sender]! < frontier[sender]!) return sender;
    }
    return -1;
  }
}

/** A member that has nothing to send says nothing. */
export class SkipsNothing extends TotalRules {
  override owed(): number {
    return 0;
  }
}

/** Skips up to the message of another sender, but not the number in front of it. */
export class SkipsTooFew extends TotalRules {
  override owed(_own: number, count: number, ends: ArrayLike<number>): number {
    return Math.max(0, ...Array.from(ends, (end) => end - 1 - count));
  }
}
