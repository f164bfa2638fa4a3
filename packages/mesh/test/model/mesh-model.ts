import type { ObjectModel } from '@rdmc/testing';
import { nextIncarnation } from '../../src/live/claim.js';
import type { MemberEvent } from '../../src/live/member-event.js';
import { claimOf, Membership, type MembershipLimits, type Verdict } from '../../src/live/membership.js';
import type { RosterDelta, RosterEntry } from '../../src/live/roster.js';
import type { Epoch } from '../../src/live/timeline.js';
import { Connection, type End } from './connection.js';
import type { Setting } from './mesh-setting.js';
import { Process, type ProcessHost, ProcessPort } from './process.js';
import { stateText } from './state-text.js';

const LIMITS: MembershipLimits = { members: 8, marks: 8, lost: 8 };

/** The processes: two members, one that may fail, and its successor. */
const [FAILING, SUCCESSOR] = [2, 3];
const FIRST_INCARNATION = 5;
/** Steps that something outside of the members causes. */
const FAULT = /^(break|stop|continue|leave|learn|introduce)/;

/** Three members that are to be connected, and a second process with the id of the third one. */
export class MeshModel implements ObjectModel, ProcessHost {
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
    this.processes = ids.map((id, index) => new Process(index, id, `process ${index}`));
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
    this.connections = this.connections.filter(({ isOpen }) => isOpen);
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
    return isWhole && isEqual && this.connections.every(({ isQuiet }) => isQuiet);
  }

  key(): string {
    const processes = this.processes.map(({ state, machine, learned, wanted, last }) =>
      stateText([state, machine, learned, wanted, last]),
    );
    const connections = this.connections.map(stateText).sort();
    const rest = [this.breaks, this.stopsLeft, this.leavesLeft, this.isFaulty];
    return [...processes, '', ...connections, '', ...rest].join('\n');
  }

  // For the ports.

  disconnect(process: Process, { member }: MemberEvent, verdict: Verdict | undefined): void {
    if (this.setting.keepsConnections) return;
    const [connection, side] = this.inUse(process, member);
    if (connection === undefined) return;
    if (verdict !== undefined) connection.send(side, { type: 'stop', verdict });
    connection.close(side);
  }

  tell(process: Process, news: RosterDelta, but: number | undefined): void {
    for (const connection of this.connections) {
      const side = connection.sideOf(process.index);
      const peer = this.processes[connection.ends[1 - side]?.process ?? -1];
      if (peer === undefined || peer.id === but || !connection.isUp(side)) continue;
      connection.send(side, { type: 'roster', news, isWhole: false });
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
      const side = connection.sideOf(process.index);
      if (side !== -1) connection.close(side);
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
    process.machine = new Machine(self, new ProcessPort(this, process), LIMITS);
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
            isOfFailing && connection.isUp(side) && this.processes[end.process]!.state === 'on';
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
    const epoch = process.machine!.nextEpoch(peer);
    this.connections.push(new Connection(epoch, process.index, target.index));
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
      connection.abandon();
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
      connection.send(1, { type: 'stop', verdict });
      connection.close(1);
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
    connection.send(side, { type: 'message', epoch: connection.epoch, instance });
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
        connection.send(side, { type: 'roster', news: missing, isWhole: false });
      }
    } else if (frame.type === 'stop') {
      if (frame.verdict.code === 'ERR_RDMC_REPLACED') this.end(process);
    } else if (frame.type === 'leave') {
      machine.leaves(peer.id, epoch);
      connection.close(side);
    } else {
      connection.close(side);
      machine.closed(peer.id, epoch, { code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'it ended' });
    }
  }

  private break(connection: Connection, side: number): void {
    const process = this.processes[connection.ends[side]!.process]!;
    const peer = this.processes[connection.ends[1 - side]!.process]!;
    if (peer.state !== 'stopped') this.breaks -= 1;
    this.isFaulty = true;
    const epoch: Epoch = { ...claimOf(peer.machine!.self), epoch: connection.epoch };
    connection.close(side);
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
    connection!.send(side, { type: 'roster', news, isWhole: true });
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
      const side = connection.sideOf(process.index);
      if (side === -1) continue;
      if (connection.isUp(side)) connection.send(side, { type: 'leave' });
      connection.close(side);
    }
  }

  private refuse(connection: Connection, refused: Process, { code }: Verdict): void {
    connection.abandon();
    if (code === 'ERR_RDMC_REPLACED' && refused.state === 'on') this.end(refused);
  }

  /** The connection that a process uses with a peer, and its side. */
  private inUse(process: Process, peer: number): [Connection | undefined, number] {
    const current = process.machine!.currentOf(peer);
    for (const connection of this.connections) {
      for (const side of [0, 1]) {
        const isMine = connection.ends[side]!.process === process.index && connection.isUp(side);
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
