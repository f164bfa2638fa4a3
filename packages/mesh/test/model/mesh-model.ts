import type { ObjectModel } from '@rdmc/testing';
import { nextIncarnation } from '../../src/live/claim.js';
import type { MemberEvent } from '../../src/live/member-event.js';
import {
  claimOf,
  Membership,
  type MembershipLimits,
  type MembershipPort,
  type Verdict,
} from '../../src/live/membership.js';
import type { RosterDelta, RosterEntry } from '../../src/live/roster.js';
import type { Epoch } from '../../src/live/timeline.js';

const LIMITS: MembershipLimits = { members: 8, marks: 8, lost: 8 };

type Machine = new (self: RosterEntry, port: MembershipPort, limits: MembershipLimits) => Membership;

/** The variant to check: the protocol, or one of its wrong variants. */
export interface Setting {
  /** The id of the process that gets a successor; the other two members have the rest of 0, 1 and 2. */
  readonly id: number;
  /** Without the second of the other members. */
  readonly isPair?: boolean;
  /** How often an end of a connection of the process may break. */
  readonly breaks?: number;
  /** The process may be stopped, and continues at any later time. */
  readonly stops?: boolean;
  /** The process may leave. */
  readonly leaves?: boolean;
  /** Another process with the id starts. */
  readonly successor?: boolean;
  readonly replace?: boolean;
  readonly machine?: Machine;
  /** The incarnation of the successor. */
  readonly incarnation?: (kept: number, known: number) => number;
  /** The port does not close a connection that the machine ends. */
  readonly keepsConnections?: boolean;
}

type Frame =
  | { readonly type: 'message'; readonly epoch: number; readonly instance: string }
  | { readonly type: 'roster'; readonly news: RosterDelta; readonly isWhole: boolean }
  | { readonly type: 'stop'; readonly verdict: Verdict }
  | { readonly type: 'leave' }
  | { readonly type: 'end' };

/** An end of a connection. `queue` is on its way to this end. */
interface End {
  readonly process: number;
  queue: Frame[];
  isOpen: boolean;
}

/** From the HELLO to the end of both sides. `ends` are the calling one and the called one. */
interface Connection {
  readonly epoch: number;
  stage: 'called' | 'confirmed' | 'up';
  readonly ends: readonly [End, End];
}

/** One process. */
class Process {
  state: 'off' | 'on' | 'stopped' | 'ended' = 'off';
  machine: Membership | undefined;
  /** The roster that the newcomer has learned, until it is introduced. */
  learned: RosterDelta | undefined;
  /** Peers to reach. */
  readonly wanted = new Map<number, RosterEntry>();
  readonly last = new Map<number, MemberEvent>();

  constructor(
    readonly index: number,
    readonly id: number,
    readonly instance: string,
  ) {}
}

class Port implements MembershipPort {
  constructor(
    private readonly model: MeshModel,
    private readonly process: Process,
  ) {}

  disconnect(event: MemberEvent, verdict: Verdict | undefined): void {
    this.model.disconnect(this.process, event, verdict);
  }

  announce(event: MemberEvent): void {
    checkOrder(this.process.last.get(event.member), event);
    this.process.last.set(event.member, event);
  }

  reach(entry: RosterEntry): void {
    this.process.wanted.set(entry.id, entry);
  }

  forget(peer: number): void {
    this.process.wanted.delete(peer);
  }

  tell(news: RosterDelta, but?: number): void {
    this.model.tell(this.process, news, but);
  }

  stop(): void {
    this.model.end(this.process);
  }
}

function checkOrder(before: MemberEvent | undefined, event: MemberEvent): void {
  const isJoined = event.type === 'joined';
  if (isJoined === (before?.type === 'joined')) throw new Error(`${event.type} follows ${before?.type}`);
  if (before === undefined) return;
  const later = event.incarnation - before.incarnation || event.epoch - before.epoch;
  if (isJoined ? later <= 0 : later !== 0) {
    throw new Error(
      `${event.type} ${event.incarnation}.${event.epoch} follows ${before.incarnation}.${before.epoch}`,
    );
  }
}

/** The processes: two members, one that may fail, and its successor. */
const [FAILING, SUCCESSOR] = [2, 3];
const FIRST_INCARNATION = 5;
/** Steps that something outside of the members causes. */
const FAULT = /^(break|stop|continue|leave|learn|introduce)/;

/** Three members that are to be connected, and a second process with the id of the third one. */
export class MeshModel implements ObjectModel {
  readonly processes: Process[];
  connections: Connection[] = [];
  breaks: number;
  stopsLeft: number;
  leavesLeft: number;
  /** Whether anything happened that may make a process look dead. */
  isFaulty = false;

  constructor(readonly setting: Setting) {
    Object.freeze(setting);
    this.breaks = setting.breaks ?? 0;
    this.stopsLeft = setting.stops ? 1 : 0;
    this.leavesLeft = setting.leaves ? 1 : 0;
    const others = [0, 1, 2].filter((id) => id !== setting.id);
    const ids = [others[0]!, others[1]!, setting.id, setting.id];
    this.processes = ids.map((id, index) => new Process(index, id, String(index).repeat(32)));
    const members = [0, 1, FAILING]
      .filter((index) => index !== 1 || !setting.isPair)
      .map((index) => this.processes[index]!);
    for (const each of members) this.begin(each, FIRST_INCARNATION);
    const entries = members.map(({ machine }) => machine!.self);
    for (const { machine } of members) machine!.learn({ entries, marks: [] });
    this.connectAll();
  }

  steps(): string[] {
    return [
      ...this.processes.flatMap((each) => (each.state === 'on' ? this.stepsOf(each) : [])),
      ...this.connections.flatMap((each, index) => this.stepsOn(each, index)),
      ...this.faults(),
    ];
  }

  take(step: string): void {
    const [verb, a, b] = step.split(' ') as [string, string, string];
    const process = this.processes[Number(a)]!;
    if (verb === 'call') this.call(process, Number(b));
    else if (verb === 'answer') this.answer(this.connections[Number(a)]!);
    else if (verb === 'accept') this.accept(this.connections[Number(a)]!);
    else if (verb === 'read') this.read(this.connections[Number(a)]!, Number(b));
    else if (verb === 'break') this.break(this.connections[Number(a)]!, Number(b));
    else if (verb === 'repair') this.repair(process, Number(b));
    else if (verb === 'show') this.show(process, this.processes[Number(b)]!);
    else if (verb === 'learn') process.learned = this.processes[Number(b)]!.machine!.roster.whole();
    else if (verb === 'introduce') this.introduce(process, this.processes[Number(b)]!);
    else if (verb === 'stop') this.stop(process);
    else if (verb === 'continue') process.state = 'on';
    else this.leave(process);
    this.connections = this.connections.filter(({ ends }) => ends.some(({ isOpen }) => isOpen));
  }

  /** All processes that run are connected with each other and know the same members, and nothing is on its way. */
  done(): boolean {
    const running = this.processes.filter(({ state }) => state === 'on');
    if (this.processes.some(({ state, learned }) => state === 'stopped' || learned !== undefined))
      return false;
    if (new Set(running.map(({ id }) => id)).size !== running.length) return false;
    // The successor is refused as long as the other one answers.
    const isOut = this.setting.successor && this.processes[SUCCESSOR]!.state === 'off';
    if (isOut && this.processes[FAILING]!.state !== 'on') return false;
    const instances = new Set(running.map(({ instance }) => instance));
    const entries = running.flatMap(({ machine }) => [...machine!.roster.entries.values()]);
    if (entries.some(({ instance }) => !instances.has(instance))) return false;
    const [first] = running;
    const isWhole = running.every(({ machine, id }) =>
      running.every((other) => other.id === id || machine!.currentOf(other.id)?.instance === other.instance),
    );
    const isEqual = running.every(({ machine }) =>
      machine!.roster.digest.equals(first!.machine!.roster.digest),
    );
    return (
      isWhole &&
      isEqual &&
      this.connections.every(({ ends }) => ends.every(({ queue }) => queue.length === 0))
    );
  }

  key(): string {
    const processes = this.processes.map(({ state, machine, learned, wanted, last }) => [
      state,
      machine,
      learned,
      wanted,
      last,
    ]);
    const connections = this.connections.map((each) => JSON.stringify(each, plain)).sort();
    const rest = [this.breaks, this.stopsLeft, this.leavesLeft, this.isFaulty];
    return JSON.stringify([processes, connections, rest], plain);
  }

  // For the ports.

  disconnect(process: Process, { member }: MemberEvent, verdict: Verdict | undefined): void {
    if (this.setting.keepsConnections) return;
    const [connection, side] = this.inUse(process, member);
    if (connection === undefined) return;
    if (verdict !== undefined) connection.ends[1 - side]!.queue.push({ type: 'stop', verdict });
    this.close(connection, side);
  }

  tell(process: Process, news: RosterDelta, but: number | undefined): void {
    for (const connection of this.connections) {
      const side = connection.ends.findIndex((end) => end.process === process.index && end.isOpen);
      const peer = this.processes[connection.ends[1 - side]?.process ?? -1];
      if (peer === undefined || peer.id === but || !this.isUp(connection, side)) continue;
      connection.ends[1 - side]!.queue.push({ type: 'roster', news, isWhole: false });
    }
  }

  end(process: Process): void {
    const twin = this.processes.find(({ id, index }) => id === process.id && index !== process.index);
    const isYounger = process.index === SUCCESSOR;
    if (isYounger) throw new Error('the newer process was replaced by the older one');
    if (!this.isFaulty && !this.setting.replace) throw new Error('a process that answers was replaced');
    if (twin === undefined) throw new Error('a process without a twin was stopped');
    process.state = 'ended';
    process.wanted.clear();
    for (const connection of this.connections) {
      for (const [side, end] of connection.ends.entries()) {
        if (end.process === process.index) this.close(connection, side);
      }
    }
  }

  /** Faults begin in a mesh that is whole. */
  private connectAll(): void {
    const next = (): string | undefined => this.steps().find((step) => !FAULT.test(step));
    for (let step = next(); step !== undefined; step = next()) this.take(step);
  }

  private begin(process: Process, incarnation: number): void {
    const { Machine = Membership } = { Machine: this.setting.machine };
    const self = Object.freeze({
      id: process.id,
      incarnation,
      instance: process.instance,
      host: 'host',
      port: 1,
      process: Object.freeze({ host: 'host', pid: process.index }),
    });
    process.machine = new Machine(self, new Port(this, process), LIMITS);
    process.state = 'on';
  }

  private stepsOf(process: Process): string[] {
    const { index, id, wanted, machine } = process;
    const steps: string[] = [];
    for (const peer of wanted.keys()) {
      if (peer < id && !this.isCalling(process, peer)) steps.push(`call ${index} ${peer}`);
      if (peer > id) steps.push(...this.showSteps(process, peer));
    }
    for (const other of this.processes) {
      if (this.canRepair(process, other)) steps.push(`repair ${index} ${other.id}`);
    }
    if (index === FAILING && this.leavesLeft > 0 && machine !== undefined) steps.push(`leave ${index}`);
    return steps;
  }

  /** Only where it has an effect. */
  private showSteps({ index, machine }: Process, peer: number): string[] {
    return this.processes
      .filter(({ id, state, machine: other }) => {
        if (id !== peer || state !== 'on' || other === undefined) return false;
        return other.roster.accepts(machine!.self) || other.judgeClaim(machine!.self) !== undefined;
      })
      .map((other) => `show ${index} ${other.index}`);
  }

  private stepsOn({ stage, ends }: Connection, index: number): string[] {
    const [caller, called] = ends;
    const isOn = (end: End): boolean => this.processes[end.process]!.state === 'on';
    if (stage === 'called') return isOn(called) && isOn(caller) ? [`answer ${index}`] : [];
    const reads = ends.flatMap((end, side) => {
      const canRead = end.isOpen && end.queue.length > 0 && isOn(end) && (side === 0 || stage === 'up');
      return canRead ? [`read ${index} ${side}`] : [];
    });
    return stage === 'confirmed' && isOn(called) && called.isOpen ? [...reads, `accept ${index}`] : reads;
  }

  private faults(): string[] {
    const steps: string[] = [];
    const failing = this.processes[FAILING]!;
    if (this.stopsLeft > 0 && failing.state === 'on') steps.push(`stop ${FAILING}`);
    if (failing.state === 'stopped') steps.push(`continue ${FAILING}`);
    if (this.breaks > 0 || failing.state === 'stopped') {
      for (const [index, connection] of this.connections.entries()) {
        for (const [side, end] of connection.ends.entries()) {
          // A stopped process looks silent to the others; that does not count.
          const peer = connection.ends[1 - side]!.process;
          const isSilent = peer === FAILING && failing.state === 'stopped';
          const isOfFailing = connection.ends.some(({ process }) => process >= FAILING);
          const canBreak =
            isOfFailing && this.isUp(connection, side) && this.processes[end.process]!.state === 'on';
          if (canBreak && (this.breaks > 0 || isSilent)) steps.push(`break ${index} ${side}`);
        }
      }
    }
    const successor = this.processes[SUCCESSOR]!;
    if (this.setting.successor && successor.state === 'off') {
      for (const contact of [0, 1]) {
        if (this.processes[contact]!.state !== 'on') continue;
        if (successor.learned === undefined) steps.push(`learn ${SUCCESSOR} ${contact}`);
        else steps.push(`introduce ${SUCCESSOR} ${contact}`);
      }
    }
    return steps;
  }

  private isCalling(process: Process, peer: number): boolean {
    const target = this.target(process, peer);
    if (target === undefined) return true;
    return this.connections.some(
      ({ stage, ends }) =>
        stage === 'called' &&
        ends[0].process === process.index &&
        ends[0].isOpen &&
        ends[1].process === target.index,
    );
  }

  /** The process at the address that a process knows of a peer. */
  private target(process: Process, peer: number): Process | undefined {
    const instance = process.wanted.get(peer)?.instance;
    const isThere = (each: Process): boolean => each.state === 'on' || each.state === 'stopped';
    return this.processes.find((each) => each.instance === instance && isThere(each));
  }

  private call(process: Process, peer: number): void {
    const target = this.target(process, peer)!;
    const end = (index: number): End => ({ process: index, queue: [], isOpen: true });
    const epoch = process.machine!.nextEpoch(peer);
    this.connections.push({ epoch, stage: 'called', ends: [end(process.index), end(target.index)] });
  }

  /** Both judge the other's HELLO; the caller sends CONFIRM. */
  private answer(connection: Connection): void {
    const [caller, called] = connection.ends;
    const machine = this.processes[called.process]!.machine!;
    const verdict = machine.judge(this.entry(caller), connection.epoch);
    if (verdict === undefined) this.confirm(connection);
    else this.refuse(connection, this.processes[caller.process]!, verdict);
  }

  private confirm(connection: Connection): void {
    const [caller, called] = connection.ends;
    const process = this.processes[caller.process]!;
    const verdict = process.machine!.judge(this.entry(called), connection.epoch);
    if (verdict !== undefined) {
      this.refuse(connection, this.processes[called.process]!, verdict);
      return;
    }
    // An attempt that was not needed any more: the dialler ends it.
    if (!process.wanted.has(this.processes[called.process]!.id)) {
      for (const end of connection.ends) end.isOpen = false;
      return;
    }
    process.machine!.connected(this.entry(called), connection.epoch);
    connection.stage = 'confirmed';
    this.post(connection, 0);
  }

  private accept(connection: Connection): void {
    const [caller, called] = connection.ends;
    const process = this.processes[called.process]!;
    const verdict = process.machine!.judge(this.entry(caller), connection.epoch);
    if (verdict !== undefined) {
      connection.ends[0].queue.push({ type: 'stop', verdict });
      this.close(connection, 1);
      return;
    }
    process.machine!.connected(this.entry(caller), connection.epoch);
    connection.stage = 'up';
    this.post(connection, 1);
  }

  /** Of a pair, each end sends one message when the connection is in use. */
  private post(connection: Connection, side: number): void {
    if (!this.setting.isPair) return;
    const { instance } = this.processes[connection.ends[side]!.process]!;
    connection.ends[1 - side]!.queue.push({ type: 'message', epoch: connection.epoch, instance });
  }

  private read(connection: Connection, side: number): void {
    const end = connection.ends[side]!;
    const process = this.processes[end.process]!;
    const machine = process.machine!;
    const peer = this.processes[connection.ends[1 - side]!.process]!;
    const frame = end.queue.shift()!;
    const epoch: Epoch = { ...claimOf(peer.machine!.self), epoch: connection.epoch };
    if (frame.type === 'message') {
      const current = machine.currentOf(peer.id);
      if (current?.instance !== frame.instance || current.epoch !== frame.epoch) {
        throw new Error('a message of an earlier connection was delivered');
      }
    } else if (frame.type === 'roster') {
      const missing = frame.isWhole ? machine.roster.missingFrom(frame.news) : undefined;
      machine.learn(frame.news);
      if (missing && missing.entries.length + missing.marks.length > 0 && end.isOpen) {
        connection.ends[1 - side]!.queue.push({ type: 'roster', news: missing, isWhole: false });
      }
    } else if (frame.type === 'stop') {
      if (frame.verdict.code === 'ERR_RDMC_REPLACED') this.end(process);
    } else if (frame.type === 'leave') {
      machine.leaves(peer.id, epoch);
      this.close(connection, side);
    } else {
      this.close(connection, side);
      machine.closed(peer.id, epoch, { code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'it ended' });
    }
  }

  private break(connection: Connection, side: number): void {
    const process = this.processes[connection.ends[side]!.process]!;
    const peer = this.processes[connection.ends[1 - side]!.process]!;
    if (peer.state !== 'stopped') this.breaks -= 1;
    this.isFaulty = true;
    const epoch: Epoch = { ...claimOf(peer.machine!.self), epoch: connection.epoch };
    this.close(connection, side);
    process.machine!.closed(peer.id, epoch, { code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'it broke' });
  }

  private canRepair(process: Process, other: Process): boolean {
    const [connection, side] = this.inUse(process, other.id);
    if (connection === undefined || connection.ends[1 - side]!.process !== other.index) return false;
    const isQuiet = connection.ends.every(({ queue }) => queue.every(({ type }) => type !== 'roster'));
    return isQuiet && !process.machine!.roster.digest.equals(other.machine!.roster.digest);
  }

  private repair(process: Process, peer: number): void {
    const [connection, side] = this.inUse(process, peer);
    const news = process.machine!.roster.whole();
    connection!.ends[1 - side]!.queue.push({ type: 'roster', news, isWhole: true });
  }

  private show(process: Process, to: Process): void {
    const verdict = to.machine!.introduce(process.machine!.self, true);
    if (verdict?.code === 'ERR_RDMC_REPLACED') this.end(process);
  }

  private introduce(process: Process, contact: Process): void {
    const { id, learned } = process;
    process.learned = undefined;
    const known = learned!.entries.find((entry) => entry.id === id)?.incarnation ?? 0;
    const marked = learned!.marks.find((mark) => mark.id === id)?.incarnation ?? 0;
    const { incarnation = nextIncarnation, replace = false } = this.setting;
    this.begin(process, incarnation(0, Math.max(known, marked)));
    const verdict = contact.machine!.introduce(process.machine!.self, replace);
    if (verdict === undefined) {
      process.machine!.learn(learned!);
      return;
    }
    if (verdict.code !== 'ERR_RDMC_ID_IN_USE')
      throw new Error('the newer process was refused as an older one');
    // The process ends with the error; it may be started again.
    process.state = 'off';
    process.machine = undefined;
    process.wanted.clear();
  }

  private stop(process: Process): void {
    this.stopsLeft -= 1;
    this.isFaulty = true;
    process.state = 'stopped';
  }

  private leave(process: Process): void {
    this.leavesLeft -= 1;
    this.isFaulty = true;
    process.state = 'ended';
    process.wanted.clear();
    for (const connection of this.connections) {
      const side = connection.ends.findIndex((end) => end.process === process.index);
      if (side === -1) continue;
      if (this.isUp(connection, side)) connection.ends[1 - side]!.queue.push({ type: 'leave' });
      this.close(connection, side);
    }
  }

  private refuse(connection: Connection, refused: Process, { code }: Verdict): void {
    for (const end of connection.ends) end.isOpen = false;
    if (code === 'ERR_RDMC_REPLACED' && refused.state === 'on') this.end(refused);
  }

  private close({ ends, stage }: Connection, side: number): void {
    const end = ends[side]!;
    if (!end.isOpen) return;
    end.isOpen = false;
    end.queue = [];
    // An attempt that is not complete is gone for both.
    if (stage === 'called') ends[1 - side]!.isOpen = false;
    else ends[1 - side]!.queue.push({ type: 'end' });
  }

  private isUp({ stage, ends }: Connection, side: number): boolean {
    return ends[side]!.isOpen && (stage === 'up' || (stage === 'confirmed' && side === 0));
  }

  /** The connection that a process uses with a peer, and its side. */
  private inUse(process: Process, peer: number): [Connection | undefined, number] {
    const current = process.machine!.currentOf(peer);
    for (const connection of this.connections) {
      for (const side of [0, 1]) {
        const isMine = connection.ends[side]!.process === process.index && this.isUp(connection, side);
        const other = this.processes[connection.ends[1 - side]!.process]!;
        if (!isMine || other.id !== peer) continue;
        // While the machine ends a connection, it is not current any more: of two, the older one is meant.
        const isCurrent =
          current === undefined ||
          (current.instance === other.instance && current.epoch === connection.epoch);
        if (isCurrent) return [connection, side];
      }
    }
    return [undefined, 0];
  }

  private entry(end: End): RosterEntry {
    return this.processes[end.process]!.machine!.self;
  }
}

/** Without what is not a part of the state: the model itself, versions, and the order of sets. */
function plain(name: string, value: unknown): unknown {
  if (name === 'port' || name === 'addedAt' || name === 'changes' || name === 'limits') return undefined;
  if (value instanceof Map) return [...value].sort(([one], [other]) => one - other);
  return value instanceof Set ? [...value].sort() : value;
}
