import type { ObjectModel } from '@rdmc/testing';
import { SeriesOrder } from '../../src/series/series-order.js';

/** What to try, and how: the rules, or one of their wrong variants. */
export interface Setting {
  /** How often a group may fail. */
  readonly failures: number;
  /** How often receiver 0 may be wedged, and then trimmed to 0 or 1. */
  readonly wedges?: number;
  /** Default 2. Of several, the last one joins with the second group. */
  readonly receivers?: number;
  readonly order?: new () => SeriesOrder;
  /** The number with which the next group begins. */
  readonly first?: (root: Root) => number;
  /** The messages of a group are taken before those of the group before it. */
  readonly overtakes?: boolean;
}

interface Root {
  /** Messages that the application has sent, and those of them that are settled. */
  readonly sent: number;
  readonly settled: number;
}

const MESSAGES = 2;
const RECEIVERS = 2;

/** The messages of one group at one receiver. Each message is its number at the sender. */
interface Run {
  readonly first: number;
  readonly inbox: number[];
  /** Messages that have come to this receiver, those taken since included. */
  arrived: number;
  isTrimmed: boolean;
  hasBegun: boolean;
  hasEnded: boolean;
}

/** One receiver, and what its application has seen. */
class Receiver {
  readonly runs: Run[] = [];
  /** The end of what the application has got or was told to lack; undefined: before its first group. */
  seen: number | undefined;
  isWedged = false;
  /** Numbers from here on may be in a gap although they are not settled: a trim has dropped them. */
  trimmed = Number.POSITIVE_INFINITY;

  constructor(readonly order: SeriesOrder) {}
}

/** A root that sends, receivers of which one joins later, and groups that deliver a part of the messages and fail. */
export class SeriesModel implements ObjectModel {
  readonly receivers: Receiver[];
  sent = 0;
  settled = 0;
  /** Undefined: there is no group. */
  group: { readonly first: number; readonly size: number } | undefined;
  groups = 0;
  failures: number;
  wedges: number;

  constructor(readonly setting: Setting) {
    Object.freeze(setting);
    this.failures = setting.failures;
    this.wedges = setting.wedges ?? 0;
    const Order = setting.order ?? SeriesOrder;
    this.receivers = Array.from({ length: setting.receivers ?? RECEIVERS }, () => new Receiver(new Order()));
  }

  steps(): string[] {
    const steps: string[] = [];
    const { group } = this;
    if (this.sent < MESSAGES) steps.push('send');
    if (group === undefined) steps.push('next');
    else {
      if (this.settled < this.sent) steps.push('settle');
      if (this.failures > 0) steps.push('fail');
      if (this.groups === 1 && this.isWhole()) steps.push('close');
    }
    this.receivers.forEach((receiver, index) => {
      const run = this.runOf(receiver);
      if (run !== undefined && run.first + run.arrived < this.sent) steps.push(`arrive ${index}`);
      if (!receiver.isWedged && receiver.runs.length > 0) steps.push(`take ${index}`);
    });
    if (this.wedges > 0 && !this.receivers[0]!.isWedged) steps.push('wedge');
    if (this.receivers[0]!.isWedged) for (const to of [0, 1]) steps.push(`trim ${to}`);
    return steps;
  }

  take(step: string): void {
    const [verb, a] = step.split(' ') as [string, string];
    const receiver = this.receivers[Number(a)]!;
    if (verb === 'send') this.sent += 1;
    else if (verb === 'settle') this.settled += 1;
    else if (verb === 'next') this.next();
    else if (verb === 'fail') {
      this.failures -= 1;
      this.endGroup();
    } else if (verb === 'close') this.endGroup();
    else if (verb === 'arrive') this.arrive(receiver);
    else if (verb === 'take') this.deliver(receiver);
    else if (verb === 'wedge') {
      this.wedges -= 1;
      this.receivers[0]!.isWedged = true;
    } else this.trim(Number(a));
  }

  done(): boolean {
    if (this.settled < MESSAGES || this.groups < 2 || !this.isWhole()) return false;
    return this.receivers.every(
      ({ runs, isWedged }) => !isWedged && runs.every(({ inbox }) => inbox.length === 0),
    );
  }

  key(): string {
    return JSON.stringify(this, (_name, value) => (value === Number.POSITIVE_INFINITY ? 'all' : value));
  }

  /** All that was sent through the group has arrived everywhere, and is settled. */
  private isWhole(): boolean {
    if (this.group === undefined || this.settled < this.sent) return false;
    const runs = this.receivers.map((each) => this.runOf(each)).filter((run) => run !== undefined);
    return runs.every((run) => run.first + run.arrived === this.sent);
  }

  private next(): void {
    const first = this.setting.first?.(this) ?? this.settled;
    this.groups += 1;
    const { length } = this.receivers;
    const size = this.groups === 1 && length > 1 ? length - 1 : length;
    this.group = { first, size };
    for (const { runs } of this.receivers.slice(0, size)) {
      runs.push({ first, inbox: [], arrived: 0, isTrimmed: false, hasBegun: false, hasEnded: false });
    }
  }

  /** The run of the group that is open. */
  private runOf({ runs }: Receiver): Run | undefined {
    const run = runs.at(-1);
    return run === undefined || run.hasEnded ? undefined : run;
  }

  private arrive(receiver: Receiver): void {
    const run = this.runOf(receiver)!;
    run.inbox.push(run.first + run.arrived);
    run.arrived += 1;
  }

  private endGroup(): void {
    for (const receiver of this.receivers) {
      const run = this.runOf(receiver);
      if (run !== undefined) run.hasEnded = true;
    }
    this.group = undefined;
  }

  /** One step of the iterator, as `SeriesReceiver` makes it. */
  private deliver(receiver: Receiver): void {
    const { runs, order } = receiver;
    const run = this.setting.overtakes ? runs.at(-1)! : runs[0]!;
    if (!run.hasBegun) {
      run.hasBegun = true;
      if (this.setting.overtakes) order.finish();
      receiver.seen ??= run.first;
      const gap = order.begin(run.first);
      if (gap !== undefined) this.seeGap(receiver, gap.from, gap.to);
      return;
    }
    const message = run.inbox.shift();
    if (message !== undefined) {
      const number = order.take();
      if (number !== undefined) this.seeMessage(receiver, number, message);
    } else if (run.hasEnded) {
      order.finish();
      runs.splice(runs.indexOf(run), 1);
      if (!run.isTrimmed && run.arrived > 0 && receiver.seen! < run.first + run.arrived)
        throw new Error('messages that had arrived were not delivered');
    }
  }

  private seeMessage(receiver: Receiver, number: number, message: number): void {
    if (number !== message) throw new Error(`message ${message} was delivered as ${number}`);
    if (number !== receiver.seen) throw new Error(`${number} was delivered where ${receiver.seen} is next`);
    receiver.seen = number + 1;
  }

  private seeGap(receiver: Receiver, from: number, to: number): void {
    if (from !== receiver.seen || to < from)
      throw new Error(`gap ${from}-${to} where ${receiver.seen} is next`);
    const hasArrived = (run: Run): boolean => run.inbox.some((message) => message >= from && message <= to);
    if (receiver.runs.some((run) => !run.isTrimmed && hasArrived(run)))
      throw new Error(`gap ${from}-${to} names a message that has arrived`);
    if (to >= this.settled && to < receiver.trimmed) throw new Error(`${to} is not settled, and was lost`);
    receiver.seen = to + 1;
  }

  private trim(to: number): void {
    const [receiver] = this.receivers;
    receiver!.isWedged = false;
    receiver!.trimmed = Math.min(receiver!.trimmed, to);
    receiver!.order.trim(to);
    const [run] = receiver!.runs;
    if (run?.hasBegun) run.isTrimmed = true;
  }
}
