import type { SingleConsumer } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import type { CheckedGroupOptions } from '../checked-group-options.js';
import type { GroupEnvironment } from '../environment.js';
import { messageOf } from '../errors.js';
import type { GroupReception, ReceptionPort } from '../group-reception.js';
import type { ReceivedMessage } from '../received-message.js';
import { ControlWord, ringUnits } from '../small/layout.js';
import { ReadAhead } from '../stable/read-ahead.js';
import { SenderRules, TotalRules } from './order-rules.js';
import type { RingsMemory } from './rings-memory.js';
import { SenderCounts } from './sender-counts.js';
import { SenderQueues } from './sender-queues.js';
import { SenderStream } from './sender-stream.js';

/**
 * The messages that a member of a group of many senders gets, as `Reception` in a group of one: it reads a ring of each sender.
 * With the order 'total' it reads its own ring as well, so that its messages get their places among the others.
 */
export class ManyReception implements GroupReception {
  readonly inbox: SingleConsumer<ReceivedMessage>;
  readonly #readAhead: ReadAhead;
  readonly #senders: readonly number[];
  /** Index of this member; −1: it does not send. */
  readonly #own: number;
  readonly #isTotal: boolean;
  readonly #counts: SenderCounts;
  readonly #rules: TotalRules;
  /** With stable delivery: messages that some member may lack, or that wait for an earlier one. */
  readonly #held: SenderQueues<ReceivedMessage> | undefined;
  readonly #streams: SenderStream[] = [];
  /** The stream of which the next look takes messages first. */
  #first = 0;
  readonly #deliveredFrom: number[];
  /** By sender: the number behind its last message that was delivered. */
  readonly #deliveredTo: number[];
  #delivered = 0;
  #self: Int32Array | undefined;
  #willLook = false;
  #hasClosed = false;
  #isOver = false;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    /** The number of the group at this node. */
    private readonly group: number,
    private readonly port: ReceptionPort,
  ) {
    const { senders = [], order, delivery, smallMessageBytes } = options;
    this.#senders = senders;
    this.#own = senders.indexOf(environment.memberId);
    this.#isTotal = order === 'total';
    this.#rules = this.#isTotal ? new TotalRules() : new SenderRules();
    const shape = { smallMessageBytes, members: options.members.length, hasManySenders: true };
    const { full } = ringUnits(shape);
    // Every ring may be full of messages that were not read here, and each of them is one number.
    this.#counts = new SenderCounts(senders.length, senders.length * full);
    this.#deliveredFrom = senders.map(() => 0);
    this.#deliveredTo = senders.map(() => 0);
    if (delivery === 'stable') this.#held = new SenderQueues(senders.length, this.#rules);
    this.#readAhead = new ReadAhead({ isStable: delivery === 'stable', copyOut: () => this.#copyOut() });
    this.inbox = this.#readAhead.inbox;
  }

  get complete(): readonly number[] {
    if (this.#own === -1 || this.#isTotal) return this.#counts.counts;
    return this.#counts.counts.with(this.#own, this.port.numbered());
  }

  get ordered(): readonly number[] {
    return this.complete;
  }

  get delivered(): number {
    return this.#delivered;
  }

  get deliveredFrom(): readonly number[] {
    return this.#deliveredFrom;
  }

  /** Numbers have no gaps. */
  readonly waiting = 0;

  get small(): { readonly messages: number; readonly bytes: number } {
    let [messages, bytes] = [0, 0];
    for (const stream of this.#streams) {
      messages += stream.messages;
      bytes += stream.bytes;
    }
    return { messages, bytes };
  }

  /** Each sender writes to all itself. */
  readonly hasRelayed = true;

  hasDelivered(counts: readonly number[]): boolean {
    const hasAll = this.complete.every((count, sender) => count >= counts[sender]!);
    // More than was agreed on is wrong as well: others do not have it.
    const hasMore = this.#deliveredTo.some((count, sender) => count > counts[sender]!);
    return hasAll && !hasMore && !this.#held?.hasMessages;
  }

  async prepare(): Promise<null> {
    return null;
  }

  /** The group has its rings. */
  useRings({ own, self, from }: RingsMemory): void {
    this.#self = self;
    for (const [sender, id] of this.#senders.entries()) {
      const ring = from.get(id);
      if (ring) this.#streams.push(this.#streamOf(sender, id, ring.bytes, ring.control));
      else if (own && self) this.#streams.push(this.#streamOf(sender, id, own.bytes, self));
    }
  }

  /** The ring of that sender may grow to this one. */
  growRing(sender: number, full: Uint8Array): void {
    this.#streams.find(({ id }) => id === sender)?.growRing(full);
  }

  /** With the order 'total': this member's own messages are in the full ring from that position on. */
  grewOwn(full: Uint8Array, at: number): void {
    if (!this.#self) return;
    this.growRing(this.environment.memberId, full);
    Atomics.store(this.#self, ControlWord.GROWN_AT, at | 0);
    Atomics.store(this.#self, ControlWord.GROWN, 1);
  }

  /** This member has written messages of its own up to that position of its ring. */
  readonly published = (head: number): void => {
    if (!this.#self) return;
    Atomics.store(this.#self, ControlWord.HEAD, head | 0);
    if (this.#willLook) return;
    this.#willLook = true;
    queueMicrotask(() => {
      this.#willLook = false;
      this.look();
    });
  };

  look(): void {
    if (this.#held || this.inbox.awaited || this.#streams.some(({ drains }) => drains)) this.#copyOut();
  }

  stable(counts: readonly number[]): void {
    const wasFull = this.#streams.some(({ sender }) => this.#held?.isFull(sender));
    this.#held?.stable(counts);
    this.#deliver();
    if (wasFull) this.#copyOut();
  }

  trim(counts: readonly number[]): void {
    for (const message of this.#held?.trim(counts) ?? []) message.release();
    this.#deliver();
  }

  freeze(): void {
    this.#isOver = true;
  }

  closed(id: number, total: number): void {
    const sender = this.#senders.indexOf(id);
    if (sender === this.#own) this.#hasClosed = true;
    // After a failure the survivors agree on what is delivered.
    if (this.#isOver) return;
    this.#held?.closed(sender, total);
    for (const stream of this.#streams) if (stream.sender === sender) stream.drains = true;
    this.#deliver();
    this.#copyOut();
  }

  close(): void {
    for (const stream of this.#streams) stream.drains = true;
    this.#copyOut();
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    // The others do not count what was not counted before.
    if (this.#held) return;
    for (const stream of this.#streams) await stream.finish();
  }

  /** Blocks are not used. */
  begin(): void {}
  finished(): void {}
  stored(): void {}

  dispose(): void {
    this.#isOver = true;
    for (const message of this.#held?.drain() ?? []) message.release();
    for (const stream of this.#streams) stream.close();
  }

  #streamOf(sender: number, id: number, bytes: Uint8Array, control: Int32Array): SenderStream {
    const { link } = this.environment;
    const source = {
      ...{ sender, id, bytes, control, skips: this.#isTotal, mostBytes: this.options.smallMessageBytes },
      kick: () => link.commands.kickSmall(this.group),
      allocate: (byteLength: number): Promise<MemoryRegion> => this.environment.allocate(byteLength),
    };
    return new SenderStream(source, this.#counts, (message) => {
      if (this.#held) this.#held.push(sender, message);
      else this.#give(sender, message);
    });
  }

  /** Copies messages out of the rings, unless they would only wait here. */
  #copyOut(): void {
    if (this.#isOver) return;
    const before = this.#counts.messages;
    const { length } = this.#streams;
    for (let index = 0; index < length; index += 1) {
      this.#copyFrom(this.#streams[(this.#first + index) % length]!);
    }
    if (length > 0) this.#first = (this.#first + 1) % length;
    if (this.#held) this.#settle();
    if (this.#counts.messages !== before) this.port.arrived();
  }

  /** Tells the others what is here, and skips the numbers for which they wait. */
  #settle(): void {
    this.port.ordered(this.ordered);
    if (this.#own === -1 || this.#hasClosed || this.#isOver) return;
    const owed = this.#rules.owed(this.#own, this.port.numbered(), this.#counts.ends);
    if (owed > 0) this.port.skip(owed);
  }

  #copyFrom(stream: SenderStream): void {
    const violation = stream.copyOut(() => this.#wants(stream), this.#grown);
    if (violation !== undefined) this.port.violated(stream.id, violation);
  }

  #wants({ drains, sender }: SenderStream): boolean {
    if (this.#isOver) return false;
    return drains || (!this.#held?.isFull(sender) && this.#readAhead.wantsMore);
  }

  readonly #grown = (error?: unknown): void => {
    if (error === undefined) this.#copyOut();
    else this.port.failed(`no memory for small messages: ${messageOf(error)}`, error);
  };

  #deliver(): void {
    const held = this.#held;
    if (!held) return;
    for (let sender = held.next(); sender !== -1; sender = held.next()) this.#give(sender, held.take(sender));
  }

  #give(sender: number, message: ReceivedMessage): void {
    this.#deliveredTo[sender] = message.number + 1;
    if (this.#isTotal) message.numberAs(this.#delivered);
    this.#delivered += 1;
    this.#deliveredFrom[sender]! += 1;
    this.inbox.push(message);
  }
}
