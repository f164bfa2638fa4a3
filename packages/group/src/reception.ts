import type { SingleConsumer } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import type { CheckedGroupOptions } from './checked-group-options.js';
import type { GroupEnvironment } from './environment.js';
import { messageOf } from './errors.js';
import type { GroupReception, ReceptionPort } from './group-reception.js';
import { IncomingMemory } from './incoming-memory.js';
import { receiveMemory } from './late-memory.js';
import { ReceiveMemory, receiveBytes } from './receive-memory.js';
import type { ReceivedMessage } from './received-message.js';
import type { SlotSetup } from './records.js';
import { Arrivals } from './small/arrivals.js';
import { EntryReader, EntryViolation } from './small/entry-reader.js';
import { OrderMerge, OrderViolation, Path } from './small/order-merge.js';
import { RelayProgress } from './small/relay-progress.js';
import type { SmallMemory } from './small/small-memory.js';
import { HeldMessages } from './stable/held-messages.js';
import { ReadAhead } from './stable/read-ahead.js';

/**
 * A receiver's messages: their memory, their order over both paths, and the queue from which the application takes them.
 * Small messages are copied out of the ring when the application takes messages; once the group closes, always. With stable
 * delivery they are copied out while the application has few unread ones, and each message is held until all members have it.
 */
export class Reception implements GroupReception {
  readonly inbox: SingleConsumer<ReceivedMessage>;
  readonly #readAhead: ReadAhead;
  readonly #incoming: IncomingMemory;
  readonly #order = new OrderMerge<ReceivedMessage>();
  #ahead: ReceiveMemory | undefined;
  #small: Arrivals | undefined;
  #reader: EntryReader | undefined;
  /** Where this member relays small messages. */
  #relay: RelayProgress | undefined;
  /** Small messages are copied out although the application does not take them. */
  #drains = false;
  #isOver = false;
  #blocksComplete = 0;
  #delivered = 0;
  /** With stable delivery: messages that some member may lack. */
  readonly #held: HeldMessages<ReceivedMessage> | undefined;
  /** Small messages that are not in order: the memory of their neighbours is in use while they are not released. */
  readonly #refused: ReceivedMessage[] = [];
  #violation: unknown;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    /** The number of the group at this node. */
    private readonly group: number,
    private readonly port: ReceptionPort,
  ) {
    const { commands } = environment.link;
    this.#incoming = new IncomingMemory(
      environment,
      options.incoming,
      {
        place: (message, address, lkey, rkey) => commands.place(group, message, address, lkey, rkey),
        // Those that wait for a small message as well: it may be in the ring until the application reads.
        unread: () => this.inbox.unread + (this.#held?.length ?? 0) + this.#order.waiting(Path.BLOCKS),
        failed: (error) => port.failed(`incoming: ${messageOf(error)}`, error),
      },
      options.members[0]!,
    );
    this.#readAhead = new ReadAhead({
      isStable: options.delivery === 'stable',
      onTaken: () => this.#incoming.admit(),
      copyOut: () => this.#copyOut(),
    });
    this.inbox = this.#readAhead.inbox;
    if (options.delivery === 'stable') this.#held = new HeldMessages(this.#give);
  }

  get complete(): readonly number[] {
    return [this.#blocksComplete + (this.#small?.messages ?? 0)];
  }

  get delivered(): number {
    return this.#delivered;
  }

  readonly deliveredFrom = undefined;

  get ordered(): readonly number[] {
    return [this.#delivered + (this.#held?.length ?? 0)];
  }

  hasDelivered([count]: readonly number[]): boolean {
    return this.#delivered === count;
  }

  get waiting(): number {
    return this.#order.waiting(Path.SMALL) + this.#order.waiting(Path.BLOCKS);
  }

  get small(): { readonly messages: number; readonly bytes: number } {
    const { messages = 0, bytes = 0 } = this.#small ?? {};
    return { messages, bytes };
  }

  async prepare(): Promise<SlotSetup | null> {
    const { receive } = this.options;
    if (!receive) return null;
    const failed = (error: unknown): void => {
      if (!this.#isOver) this.port.failed(`memory ahead: ${messageOf(error)}`, error);
    };
    const region = await receiveMemory(this.environment, receiveBytes(receive), undefined, failed);
    const { commands } = this.environment.link;
    const giveBack = (slot: number) => commands.releaseSlot(this.group, slot);
    this.#ahead = new ReceiveMemory(receive, region, giveBack, this.options.members[0]!);
    return this.#ahead.setup;
  }

  get hasRelayed(): boolean {
    return this.#relay?.isDone ?? true;
  }

  /** The group has a ring for small messages. */
  useRing({ bytes, control, isRelay }: SmallMemory): void {
    if (isRelay) this.#relay = new RelayProgress(control);
    const { smallMessageBytes, members } = this.options;
    const { commands } = this.environment.link;
    const reader = new EntryReader(bytes, control, smallMessageBytes, () => commands.kickSmall(this.group));
    const allocate = (byteLength: number): Promise<MemoryRegion> => this.environment.allocate(byteLength);
    this.#reader = reader;
    this.#small = new Arrivals(reader, smallMessageBytes, members[0]!, allocate);
  }

  /** The ring may grow to this one. */
  growRing(full: Uint8Array): void {
    this.#reader!.offer(full);
  }

  look(): void {
    if (this.#drains || this.#held || this.inbox.awaited) this.#copyOut();
  }

  stable([count]: readonly number[]): void {
    const wasFull = this.#held?.isFull;
    this.#held?.release(count! - this.#delivered);
    if (wasFull) this.#copyOut();
  }

  trim(counts: readonly number[]): void {
    this.stable(counts);
  }

  freeze(): void {
    this.#isOver = true;
  }

  closed(): void {
    this.#drains = true;
    this.#copyOut();
  }

  close(): void {
    this.#incoming.liftLimit();
    if (this.#ahead) this.environment.link.commands.liftSlots(this.group);
    this.closed();
  }

  async finish(): Promise<void> {
    const small = this.#small;
    this.#isOver = true;
    // The others do not count what was not counted before.
    if (this.#held) return;
    try {
      while (small?.isAvailable) {
        if (!this.#takeFrom(small)) await small.grow();
      }
    } catch {
      // An invalid entry, or no memory: the messages in front of it were delivered.
    }
  }

  begin(message: number, byteLength: number): void {
    this.#incoming.begin(message, byteLength);
  }

  finished(message: number): void {
    this.#push(this.#incoming.collect(message));
  }

  stored(message: number, slot: number, byteLength: number): void {
    this.#push(this.#ahead!.message(message, slot, byteLength));
  }

  dispose(reason: unknown): void {
    this.#isOver = true;
    const dropped = [...this.#order.drain(), ...(this.#held?.drain() ?? []), ...this.#refused.splice(0)];
    for (const message of dropped) message.release();
    this.#incoming.dispose(reason);
    void this.#ahead?.close();
    void this.#small?.close();
  }

  #push(message: ReceivedMessage): void {
    this.#blocksComplete += 1;
    this.port.complete(message.number);
    this.#guard(() => {
      this.#order.push(Path.BLOCKS, message);
      this.#deliver();
      // Small messages may have waited for this one, and the ring was not read meanwhile. Nothing else asks for its entries.
      this.look();
    });
  }

  readonly #pushSmall = (message: ReceivedMessage): void => {
    try {
      this.#order.push(Path.SMALL, message);
    } catch (error) {
      this.#refused.push(message);
      this.#violation ??= error;
    }
  };

  /** Copies small messages out, and delivers what is in order. False if there are none, or no memory. */
  #takeFrom(small: Arrivals): boolean {
    const taken = small.take(this.#pushSmall);
    this.#deliver();
    if (this.#violation !== undefined) throw this.#violation;
    return taken;
  }

  #deliver(): void {
    for (let message = this.#order.take(); message; message = this.#order.take()) {
      if (this.#held) this.#held.push(message);
      else this.#give(message);
    }
    if (this.#held) this.port.ordered(this.ordered);
  }

  readonly #give = (message: ReceivedMessage): void => {
    this.#delivered += 1;
    this.inbox.push(message);
  };

  /** Copies small messages out of the ring, unless they would only wait here. */
  #copyOut(): void {
    if (this.#small && !this.#isOver) this.#guard(() => this.#copyFrom(this.#small!));
  }

  #copyFrom(small: Arrivals): void {
    const before = small.messages;
    let asked = false;
    while (this.#wantsMore) {
      if (this.#takeFrom(small)) continue;
      if (small.isAvailable) {
        this.#grow(small);
        break;
      }
      if (asked) break;
      // Entries that came before the request are not announced.
      small.wantEntries();
      asked = true;
    }
    if (small.messages !== before) this.port.arrived();
  }

  /**
   * Small messages that wait for an earlier one are enough to go on with. Blocks that wait may do so for a message that is
   * still in the ring.
   */
  get #wantsMore(): boolean {
    // A message of this turn may have ended the group.
    if (this.#isOver) return false;
    if (this.#drains) return true;
    return this.#order.waiting(Path.SMALL) === 0 && !this.#held?.isFull && this.#readAhead.wantsMore;
  }

  #grow(small: Arrivals): void {
    small.grow().then(
      () => this.#copyOut(),
      (error: unknown) => this.port.failed(`no memory for small messages: ${messageOf(error)}`, error),
    );
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof EntryViolation || error instanceof OrderViolation)) throw error;
      this.port.violated(this.options.members[0]!, error.message);
    }
  }
}
