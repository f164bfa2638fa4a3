import { setTimeout as delay } from 'node:timers/promises';
import { within } from '@rdmc/common';
import type { GroupOptions } from '@rdmc/group';
import type { Exit } from '@rdmc/testing/watched-process';
import type { Violation } from '../checker/check.js';
import type { Load, Subject } from '../run/judge.js';
import { readDeliveries, readSends } from './delivery-log.js';
import { checkGroup } from './group-check.js';
import { GroupCluster } from './group-cluster.js';
import type { GroupMemberProcess } from './group-member-process.js';
import type { GroupPlan } from './group-plan.js';
import { fateOf, type GroupRecord, isSurvivor, type MemberRecord } from './group-record.js';
import { isCertain } from './group-scenarios.js';

/** For a group that does not end: on a busy machine the slowest run took a minute. */
const END_MS = 300_000;

/** A group under load whose members die, stop or are cut off. */
export class GroupRun implements Subject {
  readonly cluster: GroupCluster;
  readonly events: string[] = [];
  readonly #started = performance.now();
  /** Of the first group, and of that of its survivors. */
  #records: readonly GroupRecord[] = [];

  constructor(readonly plan: GroupPlan) {
    this.cluster = new GroupCluster(plan);
  }

  get label(): string {
    const { transport, group } = this.plan.shape;
    const { members, senders, order } = group;
    const who =
      senders === undefined ? 'root' : `${senders === 'all' ? members.length : senders.length} ${order}`;
    return `n=${members.length} ${transport} ${who}${group.quorum === 'none' ? ' any' : ''}`;
  }

  get load(): Load {
    const members = this.#records[0]?.members ?? [];
    return {
      acknowledged: members.filter(isSurvivor).length,
      summary: this.#records.map((record) => summaryOf(record.members)).join('; then '),
      trouble: this.#reports(),
      history: { groups: this.#records.map(brief) },
      // Members end with the group.
      halt: () => {},
    };
  }

  async carryOut(): Promise<Violation[]> {
    await this.cluster.start();
    this.#note('open');
    await this.#moment();
    await this.#harm();
    await this.#goOn();
    await this.#ends(this.cluster.living);
    const exits = await within(Promise.all(this.cluster.members.map(({ exited }) => exited)), {
      timeoutMs: END_MS,
      late: () => this.#hang('close their nodes'),
    });
    const first = this.#read(exits, 0, this.plan.shape.group.members);
    this.#records = [first, ...this.#readAgain(exits, first)];
    return this.#records.flatMap(checkGroup);
  }

  said(): [string, string][] {
    return this.cluster.members.map((member) => [String(member.id), member.report()]);
  }

  remove(): Promise<void> {
    return this.cluster.remove();
  }

  /** Waits for the moment of the first fault; or until a member has died or its group has ended. */
  async #moment(): Promise<void> {
    const { moment, delayMs } = this.plan.fault;
    if (moment.when === 'delivered') await this.#first(({ delivered }) => delivered >= moment.count);
    if (moment.when === 'closing') {
      this.#finish();
      await this.#first(({ isClosing }) => isClosing);
    }
    if (delayMs > 0) await delay(delayMs);
  }

  async #harm(): Promise<void> {
    const { killed, stopped, cut, gapMs, pauseMs, resumption } = this.plan.fault;
    this.#stop(stopped);
    if (cut) {
      this.#note(`cut: ${cut.from} ${cut.isOneWay ? '→' : '↔'} ${cut.to}, ${cut.paths.join(' and ')}`);
      await this.cluster.links.cut(cut);
    }
    await this.#kill(killed, gapMs);
    if (stopped.length === 0 && !cut) return;
    if (resumption === 'never') return;
    if (resumption === 'after a time') await delay(pauseMs);
    else await this.#ends(this.cluster.living.filter(({ id }) => !stopped.includes(id)));
    this.#note('goes on');
    for (const member of this.cluster.some(stopped)) member.signal('SIGCONT');
    if (cut) await this.cluster.links.heal(cut);
  }

  #stop(ids: readonly number[]): void {
    if (ids.length > 0) this.#note(`SIGSTOP of ${ids}`);
    for (const member of this.cluster.some(ids)) member.signal('SIGSTOP');
  }

  /** Without a gap all are stopped first, so that none of them learns of the death of another one. */
  async #kill(ids: readonly number[], gapMs: number): Promise<void> {
    const victims = this.cluster.some(ids);
    if (gapMs === 0 && victims.length > 1) for (const member of victims) member.signal('SIGSTOP');
    for (const [index, member] of victims.entries()) {
      if (index > 0 && gapMs > 0) await delay(gapMs);
      this.#note(`kill -9 of ${member.id}`);
      member.signal('SIGKILL');
    }
    await Promise.all(victims.map(({ exited }) => exited));
  }

  /** A group that goes on delivers some more, and is closed. */
  async #goOn(): Promise<void> {
    const before = new Map(this.cluster.members.map(({ id, delivered }) => [id, delivered]));
    await this.#first(({ id, delivered }) => delivered >= before.get(id)! + this.plan.after);
    this.#finish();
  }

  #finish(): void {
    for (const member of this.cluster.living) member.finish();
  }

  /** Resolves when that is so at some member, or when the group has ended at one, or all have died. */
  async #first(look: (member: GroupMemberProcess) => boolean): Promise<void> {
    const any = this.cluster.living.map((member) =>
      member.until((self) => look(self) || self.end !== undefined).catch(() => never()),
    );
    const all = Promise.all(this.cluster.living.map(({ exited }) => exited));
    await within(Promise.race([...any, all]), { timeoutMs: END_MS, late: () => this.#hang('go on') });
  }

  async #ends(members: readonly GroupMemberProcess[]): Promise<void> {
    await within(Promise.all(members.map((member) => member.over())), {
      timeoutMs: END_MS,
      late: () => this.#hang('end'),
    });
  }

  #reports(): string {
    return this.said()
      .map(([, report]) => report)
      .join('\n');
  }

  #hang(what: string): Error {
    return new Error(`the members did not ${what} within ${END_MS / 1000} s:\n${this.#reports()}`);
  }

  #read(exits: readonly Exit[], round: number, members: readonly number[]): GroupRecord {
    const { fault, scenario, shape } = this.plan;
    const { senders, order = 'sender', quorum = 'majority' } = shape.group;
    const { directory } = this.cluster;
    const torn = fault.torn ? [fault.torn.member] : [];
    return {
      members: members.map((id) => ({
        id,
        deliveries: readDeliveries({ directory, id, round }),
        sends: readSends({ directory, id, round }),
        end: this.cluster.members[id]!.endOf(round),
        exit: exits[id]!,
      })),
      senders: sendersAmong(senders, members),
      order: senders === undefined ? 'root' : order,
      quorum,
      isCertain: isCertain(scenario),
      mayDie: [...fault.killed, ...fault.trapped.map(({ member }) => member), ...torn],
    };
  }

  /** The group of the survivors. A member at which the first one has closed does not take part. */
  #readAgain(exits: readonly Exit[], first: GroupRecord): readonly GroupRecord[] {
    const survivor = first.members.find((member) => fateOf(member) === 'survivor');
    if (!this.plan.again || !survivor) return [];
    const left = first.members.filter(({ id }) => !survivor.end!.error!.excluded!.includes(id));
    if (left.length < 2 || left.some((member) => fateOf(member) === 'closed')) return [];
    const ids = left.map(({ id }) => id);
    const record = this.#read(exits, 1, ids);
    return record.senders.length > 0 ? [record] : [];
  }

  #note(event: string): void {
    this.events.push(`${(performance.now() - this.#started).toFixed(0)} ms: ${event}`);
  }
}

function sendersAmong(senders: GroupOptions['senders'], members: readonly number[]): readonly number[] {
  if (senders === undefined || senders === 'root') return [members[0]!];
  return senders === 'all' ? members : senders.filter((id) => members.includes(id));
}

function summaryOf(members: readonly MemberRecord[]): string {
  const deliveries = members.reduce((sum, member) => sum + member.deliveries.length, 0);
  const fates = members.map((member) => fateOf(member) ?? 'failed');
  const kinds = [...new Set(fates)].map((fate) => `${fates.filter((each) => each === fate).length} ${fate}`);
  return [`${deliveries} deliveries`, ...kinds].join(', ');
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** For the file of a failed run: deliveries as words `sender:number`. */
function brief({ members, ...rest }: GroupRecord): object {
  return {
    ...rest,
    members: members.map(({ deliveries, ...member }) => ({
      ...member,
      deliveries: deliveries
        .map(({ sender, index, isDamaged }) => `${sender}:${index}${isDamaged ? '!' : ''}`)
        .join(' '),
    })),
  };
}
