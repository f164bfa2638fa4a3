import { SingleConsumer } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import type { CheckedGroupOptions } from '../checked-group-options.js';
import type { GroupEnvironment } from '../environment.js';
import { messageOf } from '../errors.js';
import type { GroupReception, ReceptionPort } from '../group-reception.js';
import type { ReceivedMessage } from '../received-message.js';
import { Arrivals } from '../small/arrivals.js';
import { EntryReader, EntryViolation } from '../small/entry-reader.js';
import { ControlWord, ringUnits } from '../small/layout.js';
import { OrderViolation } from '../small/order-merge.js';
import { taken } from '../taken-error.js';
import { SenderRules, TotalRules } from './order-rules.js';
import type { RingsMemory } from './rings-memory.js';
import { SenderCounts } from './sender-counts.js';
import { SenderQueues } from './sender-queues.js';

/** What comes from one sender. */
interface Stream {
  /** Index of the sender, and its id. */
  readonly sender: number;
  readonly id: number;
  readonly arrivals: Arrivals;
  readonly take: (message: ReceivedMessage) => void;
  /** Messages are copied out although the application does not take them. */
  drains: boolean;
  /** Waits for memory. */
  isGrowing: boolean;
  violation: unknown;
}

/**
 * The messages that a member of a group of many senders gets, as `Reception` in a group of one: it reads a ring of each sender.
 * With the order 'total' it reads its own ring as well, so that its messages get their places among the others.
 */
export class ManyReception implements GroupReception {
  readonly inbox: SingleConsumer<ReceivedMessage>;
  readonly #senders: readonly number[];
  /** Index of this member; −1: it does not send. */
  readonly #own: number;
  readonly #isTotal: boolean;
  readonly #counts: SenderCounts;
  readonly #rules: TotalRules;
  /** With stable delivery: messages that some member may lack, or that wait for an earlier one. */
  readonly #held: SenderQueues<ReceivedMessage> | undefined;
  readonly #streams: Stream[] = [];
  /** The stream of which the next look takes messages first. */
  #first = 0;
  readonly #deliveredFrom: number[];
  #delivered = 0;
  /** Messages with wrong numbers: the memory of their neighbours is in use while they are not released. */
  readonly #refused: ReceivedMessage[] = [];
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
    // Every ring may be full of messages that were not read here, and each of them is one number.
    this.#counts = new SenderCounts(senders.length, senders.length * ringUnits(smallMessageBytes));
    this.#deliveredFrom = senders.map(() => 0);
    if (delivery === 'stable') this.#held = new SenderQueues(senders.length, this.#rules);
    this.inbox = new SingleConsumer({ taken, refill: () => this.#copyOut() });
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
    for (const { arrivals } of this.#streams) {
      messages += arrivals.messages;
      bytes += arrivals.bytes;
    }
    return { messages, bytes };
  }

  hasDelivered(counts: readonly number[]): boolean {
    return this.complete.every((count, sender) => count >= counts[sender]!) && !this.#held?.hasMessages;
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
    for (const stream of this.#streams) await this.#readRest(stream);
  }

  /** Blocks are not used. */
  begin(): void {}
  finished(): void {}
  stored(): void {}

  dispose(): void {
    this.#isOver = true;
    for (const message of [...(this.#held?.drain() ?? []), ...this.#refused.splice(0)]) message.release();
    for (const { arrivals } of this.#streams) void arrivals.close();
  }

  #streamOf(sender: number, id: number, bytes: Uint8Array, control: Int32Array): Stream {
    const { smallMessageBytes } = this.options;
    const kick = () => this.environment.link.commands.kickSmall(this.group);
    const skip = (number: number, count: number): void => {
      this.#checked(stream, () => this.#counts.skipped(sender, number, count));
    };
    const reader = new EntryReader(bytes, control, smallMessageBytes, kick, this.#isTotal ? skip : undefined);
    const allocate = (byteLength: number): Promise<MemoryRegion> => this.environment.allocate(byteLength);
    const stream: Stream = {
      ...{ sender, id, drains: false, isGrowing: false, violation: undefined },
      arrivals: new Arrivals(reader, smallMessageBytes, id, allocate),
      take: (message) => {
        const isNext = this.#checked(stream, () =>
          message.numberAs(this.#counts.message(sender, message.number)),
        );
        if (!isNext) this.#refused.push(message);
        else if (this.#held) this.#held.push(sender, message);
        else this.#give(sender, message);
      },
    };
    return stream;
  }

  /** Keeps the violation for later: the entries in front of it are valid. False if there was one. */
  #checked(stream: Stream, action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof OrderViolation)) throw error;
      stream.violation ??= error;
      return false;
    }
  }

  /** Copies messages out of the rings, unless they would only wait here. */
  #copyOut(): void {
    if (this.#isOver) return;
    const before = this.#counts.messages;
    const { length } = this.#streams;
    for (let index = 0; index < length; index += 1) {
      this.#guard(this.#streams[(this.#first + index) % length]!, (stream) => this.#copyFrom(stream));
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

  #copyFrom(stream: Stream): void {
    const { arrivals } = stream;
    let asked = false;
    while (this.#wants(stream)) {
      if (this.#takeFrom(stream)) continue;
      if (arrivals.isAvailable) {
        this.#grow(stream);
        return;
      }
      if (asked) return;
      // Entries that came before the request are not announced.
      arrivals.wantEntries();
      asked = true;
    }
  }

  #wants({ drains, sender }: Stream): boolean {
    if (this.#isOver) return false;
    return drains || (this.inbox.unread === 0 && !this.#held?.isFull(sender));
  }

  #takeFrom(stream: Stream): boolean {
    const isTaken = stream.arrivals.take(stream.take);
    if (stream.violation !== undefined) throw stream.violation;
    return isTaken;
  }

  /** Once for each stream: every look at the rings comes here again while the memory is being allocated. */
  #grow(stream: Stream): void {
    if (stream.isGrowing) return;
    stream.isGrowing = true;
    stream.arrivals.grow().then(
      () => {
        stream.isGrowing = false;
        this.#copyOut();
      },
      (error: unknown) => this.port.failed(`no memory for small messages: ${messageOf(error)}`, error),
    );
  }

  async #readRest(stream: Stream): Promise<void> {
    try {
      while (stream.arrivals.isAvailable) {
        if (!this.#takeFrom(stream)) await stream.arrivals.grow();
      }
    } catch {
      // An invalid entry, or no memory: the messages in front of it were delivered.
    }
  }

  #deliver(): void {
    const held = this.#held;
    if (!held) return;
    for (let sender = held.next(); sender !== -1; sender = held.next()) this.#give(sender, held.take(sender));
  }

  #give(sender: number, message: ReceivedMessage): void {
    if (this.#isTotal) message.numberAs(this.#delivered);
    this.#delivered += 1;
    this.#deliveredFrom[sender]! += 1;
    this.inbox.push(message);
  }

  #guard(stream: Stream, action: (stream: Stream) => void): void {
    try {
      action(stream);
    } catch (error) {
      if (!(error instanceof EntryViolation || error instanceof OrderViolation)) throw error;
      this.port.violated(stream.id, error.message);
    }
  }
}
