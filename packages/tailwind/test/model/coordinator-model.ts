import type { ObjectModel } from '@rdmc/testing';
import type { LogRecord } from '../../src/coordinator/log-record.js';
import {
  begunRecovery,
  declaredDead,
  finishedRecovery,
  givenUpRecovery,
  requireLive,
} from '../../src/coordinator/log-rules.js';

const OWNER = Object.freeze({ member: 0, incarnation: 0 });
const RECOVERERS = [1, 2] as const;
const RUNS = 2;
const ATTEMPTS = 3;
/** Of each run, before the recovery. */
const TABLES = 2;

/** The rules that a run of the coordinator, and the heirs, follow. Wrong variants have others. */
export interface Rules {
  readonly finished: typeof finishedRecovery;
  /** A recovery waits for leases that an earlier run may have granted. */
  readonly waitsForFormerLeases: boolean;
  /** A lease is noted before the record is read that allows it. */
  readonly notesLeaseFirst: boolean;
  /** A run has heirs drop what takeovers of earlier runs left, before its first takeover. */
  readonly dropsLeftovers: boolean;
  /** From then on heirs do not take more of them. */
  readonly refusesFormerTakeovers: boolean;
  /** The numbers of slot tables rise over all runs. */
  readonly keepsNumbers: boolean;
}

export const RULES: Rules = {
  finished: finishedRecovery,
  waitsForFormerLeases: true,
  notesLeaseFirst: true,
  dropsLeftovers: true,
  refusesFormerTakeovers: true,
  keepsNumbers: true,
};

/** An attempt of one member to recover the log for an heir of its own. */
interface Attempt {
  member: number;
  run: number;
  /** The coordinator has answered: leases are over. */
  isAdmitted: boolean;
  /** The heir has said that it has the log. */
  isBrought: boolean;
}

/** What an heir has of the log, and by an attempt of which run. */
interface Copy {
  number: number;
  run: number;
}

/**
 * One log, its primary with a lease, two members that recover it, and a coordinator that dies and is started again over its
 * state. The records follow the rules of `log-rules.ts`. A lease ends at the primary before the coordinator counts it as
 * over; both happen at any time.
 */
export class CoordinatorModel implements ObjectModel {
  private record: LogRecord = Object.freeze({
    logId: 1n,
    incarnation: 1,
    owner: 0,
    ownerIncarnation: 0,
    state: 'live',
    recoverer: null,
    recovererRun: null,
    attempt: 0,
    minimum: Object.freeze({ segmentId: 0n, epoch: 0 }),
    successors: Object.freeze([]),
    salvage: null,
  });
  /** The run that acts; 0: none does. */
  private acting = 1;
  private runs = 1;
  private isClean = false;
  private formerLeases = true;
  private noted = false;
  /** The coordinator is about to grant a lease: the record was live when it looked. */
  private granting = false;
  /** The run that granted the primary's lease; 0: it has none. */
  private lease = 0;
  private readonly attempts = new Map<number, Attempt>();
  /** By heir: each member recovers the log for itself. */
  private readonly copies = new Map<number, Copy>();
  /** Heirs refuse what takeovers of runs before this one bring. */
  private overBefore = 0;
  /** The last attempt with a plan: heirs were told to refuse what earlier ones bring. */
  private planned = 0;
  /** The last number of a slot table, and the newest one that a server has, with the log's successor in it. */
  private lastNumber = 0;
  private table = { number: 0, successor: 0 };
  /** Tables of this run, before and after the recovery. */
  private announced = 0;
  private hasAnnouncedSuccessor = false;

  constructor(private readonly rules: Rules = RULES) {}

  steps(): string[] {
    const steps: string[] = [];
    if (this.acting === 0) steps.push('a coordinator starts');
    else steps.push(...(this.runs < RUNS ? ['the coordinator dies'] : []), ...this.acts());
    if (this.lease > 0) steps.push('the lease ends');
    for (const [number, { run, isAdmitted, isBrought }] of this.attempts) {
      if (isAdmitted && !isBrought && this.takes(number, run)) steps.push(`${number} brings the log`);
    }
    return steps;
  }

  take(step: string): void {
    const [first, ...rest] = step.split(' ');
    if (first === 'member') this.begin(Number(rest[0]));
    else if (Number(first) > 0) this.recover(Number(first), rest.join(' '));
    else if (step === 'the coordinator dies') this.die();
    else if (step === 'a coordinator starts') this.start();
    else if (step === 'the lease ends') this.lease = 0;
    else if (step === 'a lease is asked for') this.ask();
    else if (step === 'the lease is granted') this.grant();
    else if (step === 'granted leases are over') this.noted = false;
    else if (step === 'former leases are over') this.formerLeases = false;
    else if (step === 'the primary is declared dead') this.record = frozen(declaredDead(this.record));
    else if (step === 'leftovers are dropped') this.clean();
    else this.announce();
    if (this.record.state === 'recovered' && this.lease > 0)
      throw new Error('two members may serve reads of the log');
  }

  key(): string {
    const { rules: _, record, attempts, copies, ...rest } = this;
    return `${textOf(record)}${JSON.stringify([[...attempts].sort(), [...copies].sort(), rest])}`;
  }

  done(): boolean {
    const isGivenUp = this.record.attempt === ATTEMPTS && this.attempts.size === 0;
    return this.record.state === 'recovered' ? this.table.successor > 0 : isGivenUp;
  }

  private acts(): string[] {
    const { record, acting } = this;
    const steps: string[] = [];
    if (record.state === 'live') steps.push('the primary is declared dead');
    if (record.state === 'live' && !this.granting) steps.push('a lease is asked for');
    if (this.granting) steps.push('the lease is granted');
    if (this.noted && this.lease !== acting) steps.push('granted leases are over');
    if (this.formerLeases && (this.lease === 0 || this.lease === acting))
      steps.push('former leases are over');
    if (!this.isClean) return [...steps, 'leftovers are dropped'];
    const isDue = record.state === 'recovered' ? !this.hasAnnouncedSuccessor : this.announced < TABLES;
    if (isDue) steps.push('a table is announced');
    for (const member of RECOVERERS) if (this.mayBegin(member)) steps.push(`member ${member} begins`);
    for (const number of this.attempts.keys()) {
      steps.push(...this.actsFor(number).map((act) => `${number} ${act}`));
    }
    return steps;
  }

  private mayBegin(member: number): boolean {
    const { state, attempt, recoverer, recovererRun } = this.record;
    const isTaken = recovererRun === String(this.acting) && recoverer !== null && recoverer !== member;
    return state === 'recovering' && attempt < ATTEMPTS && !isTaken;
  }

  private actsFor(number: number): string[] {
    const { isAdmitted, isBrought, run } = this.attempts.get(number)!;
    const isOver = !this.noted && !(this.rules.waitsForFormerLeases && this.formerLeases);
    const steps = ['gives up'];
    if (!isAdmitted && run === this.acting && isOver) steps.push('is admitted');
    if (isBrought) steps.push('finishes');
    return steps;
  }

  private begin(member: number): void {
    const run = String(this.acting);
    this.record = frozen(begunRecovery(this.record, { from: member, run }, () => false));
    const begun = { member, run: this.acting, isAdmitted: false, isBrought: false };
    this.attempts.set(this.record.attempt, begun);
  }

  private recover(number: number, act: string): void {
    const attempt = this.attempts.get(number)!;
    if (act === 'is admitted') attempt.isAdmitted = true;
    else if (act === 'brings the log') this.bring(number, attempt);
    else if (act === 'finishes') this.finish(number, attempt);
    else {
      this.record = frozen(givenUpRecovery(this.record, { from: attempt.member, attempt: number }));
      this.attempts.delete(number);
    }
  }

  /** The plan of an attempt has the heirs drop what earlier attempts of the same run brought them. */
  private bring(number: number, attempt: Attempt): void {
    const { member, run } = attempt;
    attempt.isBrought = true;
    this.planned = number;
    for (const [other, copy] of this.copies) {
      if (copy.run === run && copy.number < number) this.copies.delete(other);
    }
    this.copies.set(member, { number, run });
  }

  private finish(number: number, { member, run }: Attempt): void {
    this.attempts.delete(number);
    const named = { from: member, attempt: number, run: String(this.acting) };
    try {
      this.record = frozen(this.rules.finished(this.record, named, [BigInt(member)]));
    } catch {
      return;
    }
    if (this.copies.get(member)?.number !== number) throw new Error('the heir does not have the log');
    for (const [other, copy] of this.copies) {
      if (other !== member)
        throw new Error(`an attempt of run ${copy.run} has left keys that run ${run} forgot`);
    }
  }

  private takes(number: number, run: number): boolean {
    if (number < this.planned) return false;
    return !this.rules.refusesFormerTakeovers || run >= this.overBefore;
  }

  private die(): void {
    this.acting = 0;
    this.granting = false;
    this.noted = false;
  }

  private start(): void {
    this.runs += 1;
    this.acting = this.runs;
    this.isClean = false;
    this.formerLeases = true;
    this.announced = 0;
    this.hasAnnouncedSuccessor = false;
    if (!this.rules.keepsNumbers) this.lastNumber = 0;
  }

  private ask(): void {
    requireLive(this.record, OWNER);
    if (this.rules.notesLeaseFirst) this.noted = true;
    this.granting = true;
  }

  private grant(): void {
    this.granting = false;
    if (this.rules.notesLeaseFirst && this.record.state !== 'live') return;
    this.noted = true;
    this.lease = this.acting;
  }

  private clean(): void {
    this.isClean = true;
    if (!this.rules.dropsLeftovers) return;
    this.overBefore = this.acting;
    const successor = this.record.state === 'recovered' ? Number(this.record.successors[0]) : 0;
    for (const member of this.copies.keys()) if (member !== successor) this.copies.delete(member);
  }

  private announce(): void {
    this.lastNumber += 1;
    const successor = Number(this.record.successors[0] ?? 0);
    if (successor > 0) this.hasAnnouncedSuccessor = true;
    else this.announced += 1;
    if (this.lastNumber > this.table.number) this.table = { number: this.lastNumber, successor };
  }
}

/** By record: many states share one. */
const texts = new WeakMap<LogRecord, string>();

function textOf(record: LogRecord): string {
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = JSON.stringify(record, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  texts.set(record, text);
  return text;
}

function frozen(record: LogRecord): LogRecord {
  return Object.freeze(record);
}
