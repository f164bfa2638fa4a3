import { SingleConsumer } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import type { GroupEnvironment } from './environment.js';
import { GroupError, messageOf } from './errors.js';
import type { CheckedGroupOptions } from './group-options.js';
import { IncomingMemory } from './incoming-memory.js';
import { ReceiveMemory, receiveBytes } from './receive-memory.js';
import type { ReceivedMessage } from './received-message.js';
import type { SlotSetup } from './records.js';

/** A receiver's messages: their memory, and the queue from which the application takes them. */
export class Reception {
  /** Messages that wait for the application. Messages that were delivered before the end stay readable. */
  readonly inbox: SingleConsumer<ReceivedMessage>;
  readonly #incoming: IncomingMemory;
  #ahead: ReceiveMemory | undefined;
  #complete = 0;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    /** The number of the group at this node. */
    private readonly group: number,
    failed: (reason: string, error: unknown) => void,
  ) {
    const { commands } = environment.link;
    this.#incoming = new IncomingMemory(environment, options.incoming, {
      place: (message, address, lkey) => commands.place(group, message, address, lkey),
      unread: () => this.inbox.unread,
      failed: (error) => failed(`incoming: ${messageOf(error)}`, error),
    });
    this.inbox = new SingleConsumer({ taken, onTaken: () => this.#incoming.admit() });
  }

  /** Messages that are complete here. */
  get complete(): number {
    return this.#complete;
  }

  /** Allocates the memory ahead. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  async prepare(): Promise<SlotSetup | null> {
    const { receive } = this.options;
    if (!receive) return null;
    const region: MemoryRegion = await this.environment.allocate(receiveBytes(receive));
    const { commands } = this.environment.link;
    this.#ahead = new ReceiveMemory(receive, region, (slot) => commands.releaseSlot(this.group, slot));
    return this.#ahead.setup;
  }

  /** A message begins that needs memory of the application. */
  begin(message: number, byteLength: number): void {
    this.#incoming.begin(message, byteLength);
  }

  /** A message is complete in memory of the application. */
  finished(message: number): void {
    this.#push(this.#incoming.collect(message));
  }

  /** A message is complete in a slot of memory ahead. */
  stored(message: number, slot: number, byteLength: number): void {
    this.#push(this.#ahead!.message(message, slot, byteLength));
  }

  /** The application closes the group: unread messages do not delay further ones any more. */
  liftLimits(): void {
    this.#incoming.liftLimit();
    if (this.#ahead) this.environment.link.commands.liftSlots(this.group);
  }

  /** The group has ended, and the device does not use memory of it any more. */
  dispose(reason: unknown): void {
    this.#incoming.dispose(reason);
    void this.#ahead?.close();
  }

  #push(message: ReceivedMessage): void {
    this.#complete += 1;
    this.inbox.push(message);
  }
}

function taken(): GroupError {
  const message = 'This group is being iterated already, and has one consumer at a time; share its messages';
  return new GroupError('ERR_RDMC_ITERATOR_TAKEN', message);
}
