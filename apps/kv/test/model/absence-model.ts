import type { ObjectModel } from '@rdmc/testing';
import { isGone, isMinority, type Testimony } from '../../src/cluster/absences.js';

/** Of a death, a cut and a break of the network, so many happen. */
const FAULTS = 2;
const SERVERS: readonly number[] = [0, 1, 2];
/** A break of the network: server 0 stays with the coordinator. */
const isSameSide = (one: number, other: number): boolean => (one === 0) === (other === 0);

/** The rules by which the coordinator decides that a server is lost. Wrong variants have others. */
export interface AbsenceRules {
  readonly isGone: typeof isGone;
  readonly isMinority: typeof isMinority;
  /** An answer that was asked for before the coordinator was stopped does not count. */
  readonly asksAgain: boolean;
  /** Nothing is taken over while a server that is not here is reached by others: it is a witness, too. */
  readonly waitsForExpected: boolean;
}

export const ABSENCE_RULES: AbsenceRules = { isGone, isMinority, asksAgain: true, waitsForExpected: true };

interface Server {
  isAlive: boolean;
  /** Its connection with the coordinator, at its own end and at the coordinator's. */
  isOpen: boolean;
  isRegistered: boolean;
  isCut: boolean;
  isTakenOver: boolean;
  /** The other servers that it is connected with. */
  readonly sees: boolean[];
  /** What it answered last, and in which period of the coordinator between two stops. */
  answer: { readonly sees: readonly boolean[]; readonly period: number } | undefined;
}

/**
 * A coordinator that is stopped or cut off, and continues, and three servers, one of which may die; the network between servers
 * may break. A server that another one reaches must not be taken over. Servers connect with each other again only while the
 * coordinator is stopped: an answer that counts is younger than that takes.
 */
export class AbsenceModel implements ObjectModel {
  private isStopped = false;
  private period = 0;
  private deaths = 0;
  private cuts = 0;
  private breaks = 0;
  private readonly servers: Server[] = SERVERS.map((id) => ({
    isAlive: true,
    isOpen: true,
    isRegistered: true,
    isCut: false,
    isTakenOver: false,
    sees: SERVERS.map((other) => other !== id),
    answer: undefined,
  }));

  constructor(private readonly rules: AbsenceRules = ABSENCE_RULES) {}

  steps(): string[] {
    const steps = this.isStopped ? ['continues'] : this.period === 0 ? ['stops'] : [];
    if (this.breaks === 0 && this.mayFail) steps.push('splits', 'loses-link');
    for (const id of SERVERS) steps.push(...this.stepsOf(id).map((step) => `${step} ${id}`));
    return steps;
  }

  private stepsOf(id: number): string[] {
    const { isStopped } = this;
    const server = this.servers[id]!;
    const { isAlive, isOpen, isRegistered, isCut } = server;
    const steps: string[] = [];
    if (isAlive && id > 0 && this.deaths === 0 && this.mayFail) steps.push('dies');
    if (isAlive && isOpen && (isStopped || isCut)) steps.push('gives-up');
    if (!isStopped && id === 2 && this.cuts === 0 && this.mayFail) steps.push('cut');
    if (isCut) steps.push('heals');
    if (isAlive && SERVERS.some((other) => this.mayLose(id, other))) steps.push('sees');
    if (isAlive && isStopped && SERVERS.some((other) => this.mayMeet(id, other))) steps.push('meets');
    if (isStopped) return steps;
    if (isRegistered && (!isOpen || isCut)) steps.push('lost');
    if (isAlive && !isCut && !isRegistered && !server.isTakenOver) steps.push('back');
    if (isRegistered && isOpen && !isCut && this.isAsked) steps.push('answers');
    if (this.isLost(id)) steps.push('taken-over');
    return steps;
  }

  take(step: string): void {
    const [act, id] = step.split(' ');
    const server = this.servers[Number(id)]!;
    if (act === 'stops') this.isStopped = true;
    else if (act === 'continues') this.continue();
    else if (act === 'splits') this.break((one, other) => !isSameSide(one, other));
    else if (act === 'loses-link') this.break((one, other) => one !== 1 && other !== 1);
    else if (act === 'dies') this.die(server);
    else if (act === 'gives-up') server.isOpen = false;
    else if (act === 'cut') this.cut(server);
    else if (act === 'heals') server.isCut = false;
    else if (act === 'sees') this.look(Number(id), (other) => this.mayLose(Number(id), other), false);
    else if (act === 'meets') this.look(Number(id), (other) => this.mayMeet(Number(id), other), true);
    else if (act === 'lost') server.isRegistered = false;
    else if (act === 'back') Object.assign(server, { isOpen: true, isRegistered: true, answer: undefined });
    else if (act === 'answers') server.answer = { sees: [...server.sees], period: this.period };
    else this.takeOver(Number(id));
  }

  key(): string {
    const { rules: _, ...state } = this;
    return JSON.stringify(state);
  }

  /** All that run serve, and what had died is taken over. */
  done(): boolean {
    const isSettled = ({ isAlive, isRegistered, isTakenOver }: Server): boolean =>
      isAlive ? isRegistered : isTakenOver;
    return !this.isStopped && this.servers.every(isSettled);
  }

  private get mayFail(): boolean {
    return this.deaths + this.cuts + this.breaks < FAULTS;
  }

  /** Somebody is not here. */
  private get isAsked(): boolean {
    return this.servers.some(({ isRegistered, isTakenOver }) => !isRegistered && !isTakenOver);
  }

  private isLost(id: number): boolean {
    const absent = SERVERS.filter((each) => {
      const { isRegistered, isTakenOver } = this.servers[each]!;
      return !isRegistered && !isTakenOver;
    });
    const missed = absent.filter((each) => this.isUnreached(each));
    if (!missed.includes(id) || (this.rules.waitsForExpected && missed.length < absent.length)) return false;
    return !this.rules.isMinority(SERVERS.length - missed.length, missed.length);
  }

  private isUnreached(id: number): boolean {
    const { rules } = this;
    const witnesses = this.servers.filter(({ isRegistered }) => isRegistered);
    const testimonies = witnesses.map(({ answer }): Testimony => {
      const isOld = answer === undefined || (rules.asksAgain && answer.period !== this.period);
      return isOld ? undefined : answer.sees[id];
    });
    return rules.isGone(false, testimonies);
  }

  private mayLose(id: number, other: number): boolean {
    return this.servers[id]!.sees[other]! && !this.servers[other]!.isAlive;
  }

  private mayMeet(id: number, other: number): boolean {
    const { isAlive } = this.servers[other]!;
    return id !== other && isAlive && !this.servers[id]!.sees[other];
  }

  private look(id: number, changes: (other: number) => boolean, isSeen: boolean): void {
    const { sees } = this.servers[id]!;
    for (const other of SERVERS) {
      if (!changes(other)) continue;
      sees[other] = isSeen;
      if (isSeen) this.servers[other]!.sees[id] = true;
    }
  }

  private break(isBroken: (one: number, other: number) => boolean): void {
    this.breaks += 1;
    for (const one of SERVERS) {
      for (const other of SERVERS) if (isBroken(one, other)) this.servers[one]!.sees[other] = false;
    }
  }

  private cut(server: Server): void {
    this.cuts += 1;
    server.isCut = true;
  }

  private die(server: Server): void {
    this.deaths += 1;
    server.isAlive = false;
    server.isOpen = false;
  }

  private continue(): void {
    this.isStopped = false;
    this.period += 1;
  }

  private takeOver(id: number): void {
    const server = this.servers[id]!;
    server.isTakenOver = true;
    const isReached = this.servers.some(({ isAlive, sees }) => isAlive && sees[id]);
    if (server.isAlive && isReached) throw new Error('a server was taken over that another one reaches');
  }
}
