import type { Clock } from './clock.js';
import type { HostCosts, NicCosts } from './cluster.js';
import { SimulatorError } from './errors.js';
import { allBlocksOf, type SimulatedGroup, scheduleOf } from './group.js';
import type { LiveTrace } from './live-trace.js';
import { Member, type MemberContext } from './member.js';
import type { Executor } from './offload.js';
import type { SendQueue } from './send-queue.js';
import type { TracedGroup } from './tracer.js';
import type { Windows } from './windows.js';

/** Time that a test adds to the send of one block, in microseconds. */
export interface Delay {
  /** Node of the sender. */
  readonly from: number;
  /** Node of the receiver. */
  readonly to: number;
  /** The block, from 0, of each message. */
  readonly block: number;
  /** The added time in microseconds. */
  readonly lasts: number;
}

/** What a group shares with the others of a simulation. */
export interface GroupContext {
  readonly clock: Clock;
  readonly nic: NicCosts;
  readonly hostCosts: HostCosts;
  readonly windows: Windows;
  readonly offload: boolean;
  readonly relay: 'worker' | 'device';
  readonly traces: boolean;
  readonly delays: readonly Delay[];
  readonly live: LiveTrace | undefined;
  sendQueue(from: number, to: number): SendQueue;
  executorOf(node: number): Executor;
}

/** A group in a simulation: starts its messages, and knows when each is complete everywhere. */
export class GroupRun implements MemberContext {
  readonly clock: Clock;
  readonly nic: NicCosts;
  readonly hostCosts: HostCosts;
  readonly windows: Windows;
  readonly offload: boolean;
  readonly relay: 'worker' | 'device';
  readonly traced: TracedGroup | undefined;
  readonly live: LiveTrace | undefined;
  readonly members: Member[] = [];
  /** When each message was sent, and when the last member had it. */
  readonly sentAt: number[] = [];
  readonly completeAt: number[] = [];
  /** Called when a message is complete everywhere. */
  messageComplete: () => void = () => this.sendNext();
  readonly #missing: number[] = [];

  constructor(
    private readonly context: GroupContext,
    readonly group: SimulatedGroup,
    readonly number: number,
  ) {
    this.clock = context.clock;
    this.nic = context.nic;
    this.hostCosts = context.hostCosts;
    this.windows = context.windows;
    this.offload = context.offload;
    this.relay = context.relay;
    this.live = context.live;
    const { members, messages } = group;
    this.traced = context.traces ? { number, schedule: scheduleOf(group), members, messages } : undefined;
    for (let rank = 0; rank < members.length; rank += 1) {
      this.members.push(new Member(this, rank, context.executorOf(members[rank]!)));
    }
  }

  sendQueue(from: number, to: number): SendQueue {
    return this.context.sendQueue(from, to);
  }

  delayOf(from: number, to: number, block: number): number {
    const { delays } = this.context;
    if (delays.length === 0) return 0;
    const found = delays.find((delay) => delay.from === from && delay.to === to && delay.block === block);
    return found?.lasts ?? 0;
  }

  /** The first turn of each member, in which it posts its first receives. */
  open(): void {
    for (const member of this.members) member.open();
  }

  /** Sends the first messages. */
  start(): void {
    for (let message = 0; message < this.group.inFlight; message += 1) this.sendNext();
  }

  /** Sends the next message, if there is one. */
  sendNext(): void {
    const message = this.sentAt.length;
    if (message === this.group.messages) return;
    this.sentAt.push(this.clock.now);
    this.#missing.push(this.members.length);
    this.members[0]!.send(message);
  }

  /** A member has the message and has relayed its part. */
  finished(message: number): void {
    this.#missing[message]! -= 1;
    if (this.#missing[message] !== 0) return;
    this.completeAt[message] = this.clock.now;
    this.messageComplete();
  }

  /** @throws SimulatorError ERR_RDMC_SIMULATION_STUCK unless every member has every block, and no queue holds a send */
  checkConserved(): void {
    const { messages } = this.group;
    const wanted = allBlocksOf(this.group);
    for (const { rank, blocks, finishedAt, sendQueues, machine } of this.members) {
      const fine =
        blocks === (rank === 0 ? 0 : wanted) &&
        finishedAt.length === messages &&
        machine.openMessages === 0 &&
        sendQueues.every(({ isEmpty }) => isEmpty);
      if (fine) continue;
      throw new SimulatorError(
        'ERR_RDMC_SIMULATION_STUCK',
        `Member ${rank} has ${blocks} of ${wanted} blocks and ${finishedAt.length} of ${messages} messages; ` +
          `${machine.outstandingSends} sends have not completed`,
      );
    }
  }
}
