import type { ObjectModel } from '@rdmc/testing';
import { isReplayed, type Tenure } from '../../src/cluster/tenure.js';
import { type Outcome, outcomeOf, renewed, replaced } from '../../src/handover/handover-rules.js';
import { OutgoingMachine, type OutgoingPort } from '../../src/handover/outgoing-machine.js';

/** Bounds of the search. */
const WRITES = 2;
const MOVES = 2;
const COORDINATORS = 2;
const SERVERS: readonly number[] = [0, 1];

/** The rules that servers and coordinator follow. Wrong variants have others. */
export interface HandOverRules {
  readonly isReplayed: typeof isReplayed;
  /** A commit compares the epochs of the records. */
  readonly replaced: typeof replaced;
  /** A hand-over that will not happen gives the records new epochs. */
  readonly renewed: typeof renewed;
  /** The target's last version, and the source's, are the floor. */
  readonly floor: (target: number) => number;
  /** The source serves again when it has waited for long. */
  readonly resumesByItself: boolean;
  /** A commit looks whether a log was declared dead. */
  readonly refusesDeadLogs: boolean;
  /** The target forgets what is whole when the connection with the source breaks. */
  readonly forgetsWhole: boolean;
  /** The source waits for the appends that were begun before it stopped. */
  readonly waitsForAppends: boolean;
  /** A target forgets what it has of the slot before it gets it. */
  readonly forgetsBefore: boolean;
  /** A takeover that brings the slot to the target ends the hand-over there. */
  readonly endsByTakeover: boolean;
  /** A target takes the first message of a hand-over also when a later takeover has brought it the slot. */
  readonly takesLate: boolean;
  /** The target of a hand-over that was not known any more is told to forget the slot. */
  readonly dropsUnknown: boolean;
}

export const HAND_OVER_RULES: HandOverRules = {
  isReplayed,
  replaced,
  renewed,
  floor: (target) => target,
  resumesByItself: false,
  refusesDeadLogs: true,
  forgetsWhole: false,
  waitsForAppends: true,
  forgetsBefore: true,
  endsByTakeover: true,
  takesLate: false,
  dropsUnknown: true,
};

/** 0: the key does not exist. */
type Value = number;

interface LogEntry {
  readonly version: number;
  readonly value: Value;
}

interface Server {
  isAlive: boolean;
  /** The log of the process; logs are named as servers: a server that dies does not return. */
  log: readonly LogEntry[];
  /** The last version. */
  version: number;
  /** What the index says; undefined: the key is not in it. */
  index: Value | undefined;
  /** By the newest table that it has. */
  isOwner: boolean;
  /** A write that is in the log's hands, and not acknowledged. */
  pending: Value | undefined;
  /** The takeover that has brought it the slot. */
  takenBy: number;
}

/** A hand-over as its source, its target and the coordinator know it. */
interface HandOver {
  readonly number: number;
  readonly source: number;
  readonly target: number;
  readonly expected: number;
  floor: number;
  /** The target is told, and has the source's entries so far. */
  isBegun: boolean;
  isWhole: boolean;
  /** What the source sent before it gave up; it may arrive yet. */
  sent: Value | undefined;
  /** At the target, by a takeover. */
  isEnded: boolean;
  /** The coordinator has kept the slot where it is, and tells the target. */
  isDropped: boolean;
  machine: OutgoingMachine;
  actions: Actions;
  /** What the source asks the coordinator. */
  asks: 'nothing' | 'commit' | 'cancel';
}

class Actions implements OutgoingPort {
  stopping = false;
  finishing = false;
  asking: boolean | undefined = undefined;
  stop(): void {
    this.stopping = true;
  }
  finish(): void {
    this.finishing = true;
  }
  settle(isReady: boolean): void {
    this.asking = isReady;
  }
  resume(): void {}
  release(): void {}
}

/**
 * One key in one slot, two servers, and a coordinator that dies and is started again. The slot is handed over, also to and fro; the
 * source, the target and the connection between them may be lost. A store's write of a coordinator that has died may still happen.
 *
 * At each moment the log that the record names has the acknowledged value, by the entries that a recovery replays; whoever serves
 * the slot answers it; and two servers do not serve it.
 */
export class HandOverModel implements ObjectModel {
  private record: Tenure = Object.freeze({ logId: '0', epoch: 0, floor: 0 });
  private lastNumber = 0;
  private readonly servers: Server[] = SERVERS.map((id) => ({
    isAlive: true,
    log: [],
    version: 0,
    index: undefined,
    isOwner: id === 0,
    pending: undefined,
    takenBy: 0,
  }));
  /** The acknowledged value. */
  private value: Value = 0;
  private writes = 0;
  private moves = 0;
  private handOver: HandOver | undefined;
  /** The coordinator that acts knows the hand-over; false: it was started later, or has given it up. */
  private isKnown = false;
  private isCoordinatorAlive = true;
  private coordinators = 1;
  /** A commit that was checked and not stored yet. */
  private commit:
    | { readonly expected: number; readonly next: Tenure; readonly coordinator: number }
    | undefined;
  private isBroken = false;

  constructor(private readonly rules: HandOverRules = HAND_OVER_RULES) {}

  steps(): string[] {
    return [...this.clientSteps(), ...this.sourceSteps(), ...this.coordinatorSteps(), ...this.faults()];
  }

  take(step: string): void {
    const [name, argument] = step.split(' ');
    const handOver = this.handOver!;
    const server = this.servers[Number(argument)]!;
    if (name === 'put') this.write(server, this.writes + 1);
    else if (name === 'delete') this.write(server, 0);
    else if (name === 'acknowledge') this.acknowledge(server);
    else if (name === 'order') this.order();
    else if (name === 'begin') this.begin(handOver);
    else if (name === 'copy') this.copy(handOver);
    else if (name === 'copied') handOver.machine.copied();
    else if (name === 'stopped') this.stopped(handOver);
    else if (name === 'finish') this.finish(handOver);
    else if (name === 'fail') this.fail(handOver);
    else if (name === 'arrives') this.arrives(handOver);
    else if (name === 'resume') this.resume(handOver);
    else if (name === 'check') this.check(handOver);
    else if (name === 'store') this.store(handOver);
    else if (name === 'keep') this.keep(handOver);
    else if (name === 'drop') this.drop(handOver);
    else if (name === 'table') this.table(server, Number(argument));
    else if (name === 'break') this.break(handOver);
    else if (name === 'late') this.late(handOver);
    else if (name === 'die') this.die(Number(argument));
    else if (name === 'coordinator-dies') this.coordinatorDies();
    else this.coordinatorStarts();
    this.verify();
  }

  key(): string {
    const { rules: _, handOver, ...rest } = this;
    if (!handOver) return JSON.stringify(rest);
    const { machine, actions, ...facts } = handOver;
    return JSON.stringify([rest, facts, machine.state, actions]);
  }

  done(): boolean {
    const { handOver } = this;
    const isSettled =
      handOver === undefined ||
      ['kept', 'moved'].includes(handOver.machine.state) ||
      !this.servers[handOver.source]!.isAlive;
    return isSettled && !this.hasLeftovers() && this.servers.some((_, id) => this.serves(id));
  }

  private serves(id: number): boolean {
    const { isAlive, isOwner } = this.servers[id]!;
    if (!isAlive || !isOwner) return false;
    if (this.handOver?.source !== id) return true;
    // What it hears later, by a table or as an heir, is of a later tenure.
    return this.handOver.machine.serves || this.handOver.machine.state === 'moved';
  }

  private get owner(): number {
    return Number(this.record.logId);
  }

  private clientSteps(): string[] {
    return SERVERS.flatMap((id) => {
      const { pending, isAlive } = this.servers[id]!;
      if (isAlive && pending !== undefined) return [`acknowledge ${id}`];
      if (!this.serves(id) || this.writes === WRITES) return [];
      return this.value === 0 ? [`put ${id}`] : [`put ${id}`, `delete ${id}`];
    });
  }

  private sourceSteps(): string[] {
    const { handOver } = this;
    if (!handOver || !this.servers[handOver.source]!.isAlive) return [];
    const { machine, isBegun, source } = handOver;
    const isTargetHere = this.servers[handOver.target]!.isAlive && !this.isBroken;
    const steps: string[] = [];
    if (machine.state === 'copying' && isTargetHere) {
      if (!isBegun) steps.push('begin');
      else steps.push('copied', ...(this.isBehind(handOver) ? ['copy'] : []));
    }
    const isQuiet = this.servers[source]!.pending === undefined || !this.rules.waitsForAppends;
    if (machine.state === 'stopping' && isQuiet) steps.push('stopped');
    if (machine.state === 'finishing' && isTargetHere && isBegun) steps.push('finish');
    // A step takes too long, or the target is not here.
    if (['stopping', 'finishing'].includes(machine.state)) steps.push('fail');
    if (machine.state === 'copying' && !isTargetHere) steps.push('fail');
    if (handOver.sent !== undefined && isTargetHere && !handOver.isEnded) steps.push('arrives');
    if (this.rules.resumesByItself && machine.state === 'settling') steps.push('resume');
    return steps;
  }

  private coordinatorSteps(): string[] {
    const steps: string[] = this.commit ? ['store'] : [];
    if (!this.isCoordinatorAlive) return [...steps, 'coordinator-starts'];
    const { handOver } = this;
    const isOver = handOver === undefined || ['kept', 'moved'].includes(handOver.machine.state);
    const isOrdered = this.servers.every(({ isAlive }) => isAlive) && !this.commit;
    if (isOver && isOrdered && this.moves < MOVES && this.serves(this.owner)) steps.push('order');
    // Of a coordinator, one commit follows the other; what a former one began may still be stored.
    const isStoring = this.commit?.coordinator === this.coordinators;
    if (handOver?.machine.state === 'settling' && this.servers[handOver.source]!.isAlive && !isStoring) {
      steps.push(this.isKnown && handOver.actions.asking ? 'check' : 'keep');
    }
    if (handOver && this.isDropDue(handOver)) steps.push('drop');
    for (const id of SERVERS) {
      const { isAlive, isOwner } = this.servers[id]!;
      if (isAlive && isOwner !== (id === this.owner)) steps.push(`table ${id}`);
    }
    return steps;
  }

  private faults(): string[] {
    const steps: string[] = [];
    if (this.isCoordinatorAlive && this.coordinators < COORDINATORS) steps.push('coordinator-dies');
    if (this.handOver && !this.isBroken && this.handOver.machine.state !== 'kept') steps.push('break');
    if (this.servers.every(({ isAlive }) => isAlive)) steps.push(...SERVERS.map((id) => `die ${id}`));
    if (this.handOver && this.isLatePossible(this.handOver)) steps.push('late');
    return steps;
  }

  /** The first message of a dead source may be behind the takeover of its log; a server that serves the slot refuses it. */
  private isLatePossible({ source, target, isBegun, number }: HandOver): boolean {
    const { isAlive, isOwner, takenBy } = this.servers[target]!;
    const isTaken = this.rules.takesLate || number > takenBy;
    return !this.servers[source]!.isAlive && !isBegun && isAlive && !isOwner && isTaken;
  }

  /** It is in the log and the index; a reply waits for the acknowledgement. */
  private write(server: Server, value: Value): void {
    this.writes += 1;
    server.pending = value;
  }

  private acknowledge(server: Server): void {
    const value = server.pending!;
    this.append(server, value);
    server.pending = undefined;
    this.value = value;
  }

  private append(server: Server, value: Value): void {
    server.version += 1;
    server.log = Object.freeze([...server.log, Object.freeze({ version: server.version, value })]);
    server.index = value;
  }

  private order(): void {
    this.lastNumber += 1;
    this.moves += 1;
    const actions = new Actions();
    this.handOver = {
      number: this.lastNumber,
      source: this.owner,
      target: 1 - this.owner,
      expected: this.record.epoch,
      floor: 0,
      isBegun: false,
      isWhole: false,
      sent: undefined,
      isEnded: false,
      isDropped: false,
      machine: new OutgoingMachine(actions),
      actions,
      asks: 'nothing',
    };
    this.isKnown = true;
    this.isBroken = false;
  }

  private begin(handOver: HandOver): void {
    const [source, target] = [this.servers[handOver.source]!, this.servers[handOver.target]!];
    if (this.rules.forgetsBefore) target.index = undefined;
    target.version = Math.max(target.version, source.version);
    handOver.floor = this.rules.floor(target.version);
    handOver.isBegun = true;
  }

  private isBehind({ source, target }: HandOver): boolean {
    return (this.servers[source]!.index ?? 0) !== (this.servers[target]!.index ?? 0);
  }

  /** What the log has acknowledged; a removal is written only where there is a key. */
  private copy(handOver: HandOver): void {
    const value = this.servers[handOver.source]!.index ?? 0;
    const target = this.servers[handOver.target]!;
    if (value !== (target.index ?? 0)) this.append(target, value);
  }

  private stopped(handOver: HandOver): void {
    handOver.machine.stopped();
  }

  private finish(handOver: HandOver): void {
    this.copy(handOver);
    handOver.isWhole = true;
    handOver.machine.finished();
  }

  private fail(handOver: HandOver): void {
    const { machine, source, target, isBegun, isEnded } = handOver;
    const isHeard = machine.state === 'finishing' && isBegun && !isEnded && !this.isBroken;
    if (isHeard && this.servers[target]!.isAlive) handOver.sent = this.servers[source]!.index ?? 0;
    machine.failed();
  }

  /** The target gets what was sent, and does not know that the source has given up. */
  private arrives(handOver: HandOver): void {
    const target = this.servers[handOver.target]!;
    if (handOver.sent !== (target.index ?? 0)) this.append(target, handOver.sent!);
    handOver.sent = undefined;
    handOver.isWhole = true;
  }

  private resume(handOver: HandOver): void {
    handOver.isDropped = true;
    handOver.machine.answered('kept');
  }

  /** The coordinator looks at the records; its store has the change later. */
  private check({ source, target, expected, number, floor }: HandOver): void {
    this.isKnown = false;
    const isDead = !this.servers[source]!.isAlive || !this.servers[target]!.isAlive;
    if (this.rules.refusesDeadLogs && isDead) return;
    this.commit = Object.freeze({
      coordinator: this.coordinators,
      expected,
      next: Object.freeze({ logId: String(target), epoch: number, floor }),
    });
  }

  private store(handOver: HandOver): void {
    const { expected, next } = this.commit!;
    this.commit = undefined;
    try {
      this.record = Object.freeze(this.rules.replaced(this.record, { slot: 0, expected, next }));
    } catch {
      return;
    }
    if (this.isCoordinatorAlive && handOver.machine.state === 'settling') this.answer(handOver, 'moved');
  }

  private keep(handOver: HandOver): void {
    handOver.isDropped = this.isKnown || this.rules.dropsUnknown;
    const outcome = outcomeOf([this.record], String(handOver.source));
    if (outcome === 'kept') {
      this.lastNumber += 1;
      this.record = Object.freeze(this.rules.renewed(this.record, this.lastNumber));
    }
    this.answer(handOver, outcome);
  }

  private answer(handOver: HandOver, outcome: Outcome): void {
    handOver.machine.answered(outcome);
    const source = this.servers[handOver.source]!;
    if (outcome === 'moved') {
      source.isOwner = false;
      source.index = undefined;
    }
  }

  private isDropDue(handOver: HandOver): boolean {
    return handOver.isDropped && this.hasLeftovers();
  }

  /** The target has entries of a hand-over that has not happened. */
  private hasLeftovers(): boolean {
    if (!this.handOver) return false;
    const { machine, target, isBegun } = this.handOver;
    const { isAlive, index } = this.servers[target]!;
    return machine.state === 'kept' && isAlive && isBegun && index !== undefined && this.owner !== target;
  }

  private drop(handOver: HandOver): void {
    handOver.sent = undefined;
    this.servers[handOver.target]!.index = undefined;
  }

  private table(server: Server, id: number): void {
    server.isOwner = id === this.owner;
  }

  private break(handOver: HandOver): void {
    this.isBroken = true;
    const target = this.servers[handOver.target]!;
    const { isBegun, isEnded, isWhole } = handOver;
    const isForgotten = isBegun && !isEnded && (!isWhole || this.rules.forgetsWhole);
    if (isForgotten && !target.isOwner) target.index = undefined;
  }

  private late(handOver: HandOver): void {
    handOver.isBegun = true;
    this.servers[handOver.target]!.index = undefined;
  }

  /** The other server takes over what the record gives the dead one's log, by what the log replays. */
  private die(id: number): void {
    const [dead, heir] = [this.servers[id]!, this.servers[1 - id]!];
    // A write that was not acknowledged may be in the log, or not; here it is not.
    dead.isAlive = false;
    dead.pending = undefined;
    if (this.commit && this.rules.refusesDeadLogs) this.commit = undefined;
    const replayed = dead.log.filter(({ version }) =>
      this.rules.isReplayed(this.record, String(id), version),
    );
    if (replayed.length === 0 && this.owner !== id) return;
    const floor = heir.version;
    if (this.handOver?.target === 1 - id) this.handOver.isEnded = this.rules.endsByTakeover;
    heir.index = undefined;
    const last = replayed.at(-1)?.value ?? 0;
    if (last !== 0) this.append(heir, last);
    if (this.owner !== id) return;
    this.lastNumber += 1;
    this.record = Object.freeze({ logId: String(1 - id), epoch: this.lastNumber, floor });
    heir.takenBy = this.lastNumber;
  }

  private coordinatorDies(): void {
    this.isCoordinatorAlive = false;
  }

  private coordinatorStarts(): void {
    this.isCoordinatorAlive = true;
    this.coordinators += 1;
    this.isKnown = false;
  }

  private verify(): void {
    if (SERVERS.every((id) => this.serves(id))) throw new Error('two servers serve the slot');
    if (this.hasLeftovers() && !this.handOver!.isDropped)
      throw new Error('nobody tells the target to forget');
    const { log } = this.servers[this.owner]!;
    const replayed = log.filter(({ version }) =>
      this.rules.isReplayed(this.record, this.record.logId, version),
    );
    const last = replayed.at(-1)?.value ?? 0;
    if (last !== this.value) throw new Error(`a recovery finds ${last}, and not ${this.value}`);
    for (const id of SERVERS) {
      const { index, isOwner } = this.servers[id]!;
      if (this.serves(id) && isOwner && (index ?? 0) !== this.value) {
        throw new Error(`server ${id} answers ${index ?? 0}, and not ${this.value}`);
      }
    }
  }
}
