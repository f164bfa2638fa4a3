import type { ObjectModel } from '@rdmc/testing';
import { requireTerm } from '../../src/coordinator/term-guard.js';

const COORDINATORS = [0, 1] as const;
const NOBODY = -1;
/** So many times a coordinator takes the lead. */
const TERMS = 2;

/** The rules of coordinators that follow each other, and of members. Wrong variants have others. */
export interface LeadRules {
  /** Members refuse what a coordinator says after they have heard of a later term. */
  readonly requireTerm: typeof requireTerm;
  /** A term is raised in the state before its first act. */
  readonly raisesTerm: boolean;
  /** A term declares nobody dead before all leases of former terms have ended. */
  readonly declaresAfterFormerLeases: boolean;
  /** A recovery ends only after the leases of its own term. */
  readonly waitsForOwnLeases: boolean;
  /** Each act is a transaction on the lead. */
  readonly checksLead: boolean;
}

export const LEAD_RULES: LeadRules = {
  requireTerm,
  raisesTerm: true,
  declaresAfterFormerLeases: true,
  waitsForOwnLeases: true,
  checksLead: true,
};

interface Seat {
  /** 0: it waits for the lead. A coordinator that lost the lead does not know, and keeps its term. */
  term: number;
  formerLeases: boolean;
  /** It may have granted a lease. */
  noted: boolean;
  /** The heir has dropped what takeovers of former terms left. */
  isClean: boolean;
}

/**
 * Two coordinators over one state in etcd, the primary of a log, and an heir. The lead is lost at any time, by a coordinator that is
 * stopped or cut off, and continues: its orders and answers arrive at any later time. A lease counts from the moment of asking, so
 * an answer that arrives when the leases of its term are over gives none.
 */
export class LeadModel implements ObjectModel {
  private leader: number = NOBODY;
  private stored = 0;
  private turns = 0;
  private readonly seats: Seat[] = COORDINATORS.map(() => idle());
  private record: 'live' | 'dead' | 'recovered' = 'live';
  /** The highest term that the primary and the heir have heard of. */
  private readonly seen = { primary: 0, heir: 0 };
  /** The term that granted the primary's lease; 0: it has none. */
  private lease = 0;
  /** Terms of answers and orders that are under way. */
  private answers: number[] = [];
  private orders: number[] = [];

  constructor(private readonly rules: LeadRules = LEAD_RULES) {}

  steps(): string[] {
    const steps: string[] = [];
    if (this.leader !== NOBODY && this.turns < TERMS) steps.push('the lead is lost');
    if (this.lease > 0) steps.push('the lease ends');
    for (const term of new Set(this.answers)) steps.push(`answer ${term}`);
    for (const term of new Set(this.orders)) steps.push(`order ${term}`);
    for (const id of COORDINATORS) steps.push(...this.stepsOf(id).map((step) => `${step} ${id}`));
    return steps;
  }

  take(step: string): void {
    if (step === 'the lead is lost') this.leader = NOBODY;
    else if (step === 'the lease ends') this.lease = 0;
    else {
      const [act, number] = step.split(' ');
      if (act === 'answer') this.answer(Number(number));
      else if (act === 'order') this.order(Number(number));
      else this.act(act!, Number(number));
    }
    if (this.record === 'recovered' && this.lease > 0)
      throw new Error('two members may serve reads of the log');
  }

  key(): string {
    const { rules: _, ...state } = this;
    return JSON.stringify(state);
  }

  done(): boolean {
    return this.record === 'recovered';
  }

  private stepsOf(id: number): string[] {
    const seat = this.seats[id]!;
    const steps: string[] = [];
    if (this.leader === NOBODY && this.turns < TERMS) steps.push('leads');
    if (seat.term === 0) return steps;
    if (this.seen.primary < seat.term) steps.push('tells-primary');
    if (this.seen.heir < seat.term) steps.push('tells-heir');
    if (this.leader !== id && this.rules.checksLead) return steps;
    if (this.record === 'live' && this.seen.primary <= seat.term && this.answers.length < 2)
      steps.push('grants');
    if (seat.formerLeases && (this.lease === 0 || this.lease === seat.term)) steps.push('former-leases-over');
    if (seat.noted && this.lease !== seat.term) steps.push('leases-over');
    const mayDeclare = !this.rules.declaresAfterFormerLeases || !seat.formerLeases;
    if (this.record === 'live' && mayDeclare) steps.push('declares');
    if (this.record !== 'recovered' && !seat.isClean && !this.orders.includes(seat.term))
      steps.push('orders');
    const areLeasesOver = !seat.noted || !this.rules.waitsForOwnLeases;
    const areOver = areLeasesOver && (!seat.formerLeases || !this.rules.declaresAfterFormerLeases);
    if (this.record === 'dead' && seat.isClean && areOver) steps.push('recovers');
    return steps;
  }

  private act(act: string, id: number): void {
    const seat = this.seats[id]!;
    if (act === 'leads') this.lead(id);
    else if (act === 'tells-primary') this.hears('primary', seat.term);
    else if (act === 'tells-heir') this.hears('heir', seat.term);
    else if (act === 'grants') {
      seat.noted = true;
      this.answers.push(seat.term);
    } else if (act === 'former-leases-over') {
      seat.formerLeases = false;
      this.answers = this.answers.filter((term) => term >= seat.term);
    } else if (act === 'leases-over') {
      seat.noted = false;
      this.answers = this.answers.filter((term) => term !== seat.term);
    } else if (act === 'declares') this.declare(seat);
    else if (act === 'orders') this.orders.push(seat.term);
    else this.record = 'recovered';
  }

  private lead(id: number): void {
    this.turns += 1;
    this.leader = id;
    if (this.rules.raisesTerm || this.stored === 0) this.stored += 1;
    this.seats[id] = { ...idle(), term: this.stored, formerLeases: this.turns > 1 };
  }

  private declare(seat: Seat): void {
    this.record = 'dead';
    if (this.lease > 0 && this.lease < seat.term) {
      throw new Error('a primary was declared dead that may serve reads by a lease of a former term');
    }
  }

  private hears(member: 'primary' | 'heir', term: number): boolean {
    try {
      this.rules.requireTerm(term, this.seen[member]);
    } catch {
      return false;
    }
    this.seen[member] = Math.max(term, this.seen[member]);
    return true;
  }

  private answer(term: number): void {
    this.answers.splice(this.answers.indexOf(term), 1);
    if (this.hears('primary', term)) this.lease = term;
  }

  /** An order to drop what former takeovers left. The heir of a recovered log would lose its entries. */
  private order(term: number): void {
    this.orders.splice(this.orders.indexOf(term), 1);
    if (!this.hears('heir', term)) return;
    if (this.record === 'recovered') throw new Error('the heir drops entries that it owns');
    for (const seat of this.seats) if (seat.term === term) seat.isClean = true;
  }
}

function idle(): Seat {
  return { term: 0, formerLeases: false, noted: false, isClean: false };
}
