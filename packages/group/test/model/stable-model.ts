import { type Model, ModelMemory } from '@rdmc/testing';
import { has, ranksBelow, ranksOf, setOf } from '../../src/stable/ranks.js';
import {
  openRow,
  perSender,
  type Quorum,
  type Row,
  SurvivorRules,
  type SurvivorSetting,
} from '../../src/stable/survivor-rules.js';

/** What to try, and how: the rules, or one of their wrong variants. */
export interface StableSetting {
  readonly members: number;
  /** Messages of the root, member 0: at most 3. */
  readonly messages: number;
  readonly quorum?: Quorum;
  /** Members that crash, and members that are suspected although they live, at most. */
  readonly crashes?: number;
  readonly mistakes?: number;
  /** Messages that the members have at the beginning; then no further ones arrive. */
  readonly received?: readonly number[];
  /** Members that have crashed at the beginning, and all others know it. */
  readonly crashed?: readonly number[];
  /** Steps with which every run begins. */
  readonly script?: readonly string[];
  readonly rules?: new (setting: SurvivorSetting) => SurvivorRules;
  /** A member goes on to count messages when it has stopped. */
  readonly countsOn?: boolean;
  /** A member counts a message before it is in memory. */
  readonly countsFirst?: boolean;
}

const Ended = { NO: 0, AGREED: 1, EXCLUDED: 2, MINORITY: 3 } as const;
const ENDED = { agreed: Ended.AGREED, excluded: Ended.EXCLUDED, minority: Ended.MINORITY } as const;

/** A row in one word. Ranks have 5 bits, counts 2, ballots 3. */
function pack(row: Row): number {
  const { isWedged, received, suspected, ballot, trim, excluded, isDecided } = row;
  const flags = (isWedged ? 1 : 0) | (isDecided ? 2 : 0);
  return flags | (received[0]! << 2) | (suspected << 4) | (ballot << 9) | (trim[0]! << 12) | (excluded << 14);
}

function unpack(word: number): Row {
  return {
    isWedged: (word & 1) !== 0,
    isDecided: (word & 2) !== 0,
    received: [(word >> 2) & 3],
    suspected: (word >> 4) & 31,
    ballot: (word >> 9) & 7,
    trim: [(word >> 12) & 3],
    excluded: (word >> 14) & 31,
  };
}

/**
 * The members of a group with stable delivery, their tables, crashes and wrong suspicions. The rules are those of the
 * product. A WRITE of a row and a look at the table are steps of their own, so a member acts on rows that are out of date.
 */
export class StableModel implements Model {
  readonly #memory = new ModelMemory();
  readonly #rules: readonly SurvivorRules[];
  /** By member: messages in memory, counted, and delivered; the end; the set of ranks that it has lost itself. */
  readonly #have: Int32Array;
  readonly #counted: Int32Array;
  readonly #delivered: Int32Array;
  readonly #ended: Int32Array;
  readonly #lost: Int32Array;
  /** The table of member m: word m · members + r is the row of r. */
  readonly #tables: Int32Array;
  /** Set of crashed members, crashes and mistakes that are left, the trim that somebody has agreed on + 1. */
  readonly #shared = this.#memory.take(4);

  constructor(private readonly setting: StableSetting) {
    const { members, messages, quorum = 'majority', received, crashed = [] } = setting;
    const Rules = setting.rules ?? SurvivorRules;
    const ranks = Array.from({ length: members }, (_, rank) => rank);
    this.#rules = ranks.map((rank) => new Rules({ members, rank, quorum }));
    this.#have = this.#memory.take(members);
    this.#counted = this.#memory.take(members);
    this.#delivered = this.#memory.take(members);
    this.#ended = this.#memory.take(members);
    this.#lost = this.#memory.take(members);
    this.#tables = this.#memory.take(members * members);
    for (const rank of ranks) {
      const count = rank === 0 ? messages : (received?.[rank] ?? 0);
      this.#have[rank] = count;
      this.#count(rank, count);
    }
    this.#shared.set([setOf(...crashed), setting.crashes ?? 0, setting.mistakes ?? 0, 0]);
    for (const rank of this.#alive) this.#lost[rank] = setOf(...crashed);
    for (const step of setting.script ?? []) {
      if (!this.steps().includes(step)) throw new Error(`the script has the impossible step ${step}`);
      this.take(step);
    }
  }

  current(): Int32Array {
    return this.#memory.current;
  }

  restore(state: Int32Array): void {
    this.#memory.restore(state);
  }

  done(): boolean {
    const { messages } = this.setting;
    const hasAll = (rank: number): boolean => rank === 0 || this.#delivered[rank] === messages;
    return this.#alive.every((rank) => this.#ended[rank] !== Ended.NO) || this.#alive.every(hasAll);
  }

  steps(): string[] {
    const steps: string[] = [];
    const { members, messages, received, countsFirst } = this.setting;
    for (const rank of this.#running) {
      const isCounting = rank > 0 && (!this.#row(rank).isWedged || this.setting.countsOn);
      if (isCounting && !received && this.#counted[rank]! < messages) steps.push(`count ${rank}`);
      if (countsFirst && this.#have[rank]! < this.#counted[rank]!) steps.push(`place ${rank}`);
      if (this.#looks(rank)) steps.push(`look ${rank}`);
      if (this.#shared[1]! > 0) steps.push(`crash ${rank}`);
      for (let other = 0; other < members; other += 1) {
        if (other !== rank && this.#maySuspect(rank, other)) steps.push(`suspect ${rank} ${other}`);
      }
    }
    for (const rank of this.#alive) {
      for (const other of this.#running) if (this.#isStale(rank, other)) steps.push(`write ${rank} ${other}`);
    }
    return steps;
  }

  take(step: string): void {
    const [name, one, two] = step.split(' ');
    this.#actions[name!]!(Number(one), Number(two));
    this.#check();
  }

  readonly #actions: Record<string, (rank: number, other: number) => void> = {
    count: (rank) => {
      if (!this.setting.countsFirst) this.#have[rank]! += 1;
      this.#count(rank, this.#counted[rank]! + 1);
    },
    place: (rank) => {
      this.#have[rank]! += 1;
    },
    write: (rank, other) => {
      this.#tables[other * this.setting.members + rank] = pack(this.#row(rank));
    },
    look: (rank) => this.#look(rank),
    crash: (rank) => {
      this.#shared[0]! |= 1 << rank;
      this.#shared[1]! -= 1;
      this.#forget(rank, openRow());
    },
    suspect: (rank, other) => {
      if (this.#isMistake(rank, other)) this.#shared[2]! -= 1;
      this.#lost[rank]! |= 1 << other;
    },
  };

  get #alive(): number[] {
    return ranksOf(ranksBelow(this.setting.members) & ~this.#shared[0]!);
  }

  /** Those that neither crashed nor ended. */
  get #running(): number[] {
    return this.#alive.filter((rank) => this.#ended[rank] === Ended.NO);
  }

  #row(rank: number, at = rank): Row {
    return unpack(this.#tables[at * this.setting.members + rank]!);
  }

  #write(rank: number, row: Row): void {
    this.#tables[rank * this.setting.members + rank] = pack(row);
  }

  #count(rank: number, count: number): void {
    this.#counted[rank] = count;
    const row = this.#row(rank);
    if (!row.isWedged) this.#write(rank, { ...row, received: [count] });
  }

  /** A member that ended has its last row written before it leaves: its WRITEs go on. */
  #isStale(rank: number, other: number): boolean {
    if (other === rank) return false;
    const { members } = this.setting;
    return this.#tables[other * members + rank] !== this.#tables[rank * members + rank];
  }

  #maySuspect(rank: number, other: number): boolean {
    if (has(this.#lost[rank]!, other)) return false;
    return !this.#isMistake(rank, other) || this.#shared[2]! > 0;
  }

  /** Whether that member lives, or has ended without a failure of its connection to this one. */
  #isMistake(rank: number, other: number): boolean {
    if (has(this.#shared[0]!, other)) return false;
    if (this.#ended[other] === Ended.NO) return true;
    return this.#ended[other] === Ended.AGREED && !this.#row(other, rank).isDecided;
  }

  #next(rank: number): Row {
    const { members } = this.setting;
    const rows = Array.from({ length: members }, (_, each) => this.#row(each, rank));
    const view = { rows, lost: this.#lost[rank]!, received: [this.#counted[rank]!] };
    return this.#rules[rank]!.look(view);
  }

  /** What all receivers have, as far as this one sees. */
  #stable(rank: number): number {
    let stable = this.#counted[rank]!;
    for (let each = 1; each < this.setting.members; each += 1) {
      stable = Math.min(stable, this.#row(each, rank).received[0]!);
    }
    return stable;
  }

  #delivers(rank: number): boolean {
    if (rank === 0 || (this.#row(rank).isWedged && !this.setting.countsOn)) return false;
    return this.#stable(rank) > this.#delivered[rank]!;
  }

  #looks(rank: number): boolean {
    const row = this.#next(rank);
    if (this.#delivers(rank) || pack(row) !== pack(this.#row(rank))) return true;
    const outcome = this.#rules[rank]!.outcome(row);
    return outcome !== 'open' && outcome !== 'agreeing';
  }

  #look(rank: number): void {
    if (this.#delivers(rank)) {
      this.#deliver(rank, this.#stable(rank));
      for (let each = 1; each < this.setting.members; each += 1) {
        if (this.#have[each]! < this.#delivered[rank]!) {
          throw new Error(`member ${rank} delivered a message that member ${each} does not have`);
        }
      }
    }
    const row = this.#next(rank);
    this.#write(rank, row);
    const outcome = this.#rules[rank]!.outcome(row);
    if (outcome === 'open' || outcome === 'agreeing') return;
    if (outcome === 'agreed') this.#agree(rank, row);
    else this.#checkMinority(rank);
    this.#ended[rank] = ENDED[outcome];
    this.#forget(rank, row);
  }

  #agree(rank: number, row: Row): void {
    const trim = row.trim[0]!;
    if (rank > 0) {
      if (this.#delivered[rank]! > trim) throw new Error(`member ${rank} had delivered more than the trim`);
      this.#deliver(rank, trim);
    }
    const known = this.#shared[3]! - 1;
    if (known !== -1 && known !== trim) throw new Error(`trims ${known} and ${trim} were agreed on`);
    this.#shared[3] = trim + 1;
  }

  /** Without a mistake, a majority that lives agrees. */
  #checkMinority(rank: number): void {
    const { mistakes = 0, members } = this.setting;
    const isMajority = this.#alive.length > members / 2;
    if (isMajority && this.#shared[2] === mistakes) throw new Error(`member ${rank} left the majority`);
  }

  #deliver(rank: number, count: number): void {
    if (this.#have[rank]! < count) throw new Error(`member ${rank} delivers a message that it does not have`);
    this.#delivered[rank] = count;
  }

  #check(): void {
    const trim = this.#shared[3]! - 1;
    if (trim === -1) return;
    const beyond = this.#delivered.findIndex((count) => count > trim);
    if (beyond > 0) throw new Error(`member ${beyond} has delivered more than the agreed ${trim}`);
  }

  /** What a member that has stopped knows does not matter: fewer states. */
  #forget(rank: number, row: Row): void {
    const { members } = this.setting;
    this.#lost[rank] = 0;
    this.#tables.fill(0, rank * members, (rank + 1) * members);
    this.#write(rank, row);
  }
}

/** Goes on counting when it has stopped. */
export class CountsOn extends SurvivorRules {
  protected override frozen(_own: Row, received: readonly number[]): readonly number[] {
    return received;
  }
}

/** Takes as trim what any survivor has. */
export class TrimsToMaximum extends SurvivorRules {
  protected override trimOf(survivors: readonly Row[]): readonly number[] {
    return perSender(survivors, Math.max);
  }
}

/** Takes as trim what it knows all members to have. */
export class TrimsToStable extends SurvivorRules {
  protected override trimOf(_survivors: readonly Row[], rows: readonly Row[]): readonly number[] {
    return perSender(rows.slice(1), Math.min);
  }
}

/** A leader ignores what an earlier one wrote. */
export class IgnoresTrim extends SurvivorRules {
  protected override acceptedValue(): undefined {
    return undefined;
  }
}

/** A minority goes on. */
export class MinorityGoesOn extends SurvivorRules {
  protected override get quorumSize(): number {
    return 1;
  }
}

/** Proposes before the others have stopped listening to the leaders in front of it. */
export class AsksNoPromise extends SurvivorRules {
  protected override promises(row: Row): boolean {
    return row.isWedged;
  }
}
