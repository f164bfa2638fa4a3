import type { LocalKey, MemoryRegion } from '@rdmc/verbs';
import { UNREAD_MESSAGES } from './constants.js';
import type { GroupEnvironment } from './environment.js';
import type { IncomingHandler } from './group-options.js';
import { receiveMemory } from './late-memory.js';
import { applicationMemory, type MessageMemory, ReceivedMessage, wholeRegions } from './received-message.js';
import { NO_RKEY } from './records.js';
import { checkRange, checkWritable } from './region-range.js';

interface Begun {
  readonly number: number;
  readonly byteLength: number;
}

interface Placed extends Begun {
  readonly region: MemoryRegion;
  readonly offset: number;
  /** The region belongs to the node's pool, and returns to it. */
  readonly givesBack: boolean;
  /** Keeps the region open while the message arrives. */
  readonly hold: Disposable;
}

/** The functions of the group that `IncomingMemory` calls. */
export interface IncomingPorts {
  /** `rkey`: that of memory without host access, else NO_RKEY. */
  place(message: number, address: number, lkey: LocalKey, rkey: number): void;
  unread(): number;
  failed(error: unknown): void;
}

/** Gets memory for messages that begin to arrive, unless the application has too many unread ones. */
export class IncomingMemory {
  readonly #waiting: Begun[] = [];
  readonly #placed = new Map<number, Placed>();
  readonly #controller = new AbortController();
  readonly #wholeRegions: MessageMemory;
  readonly #applicationMemory: MessageMemory;
  #limit = UNREAD_MESSAGES;
  /** Messages that were admitted and are not complete yet. */
  #arriving = 0;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly handler: IncomingHandler | undefined,
    private readonly ports: IncomingPorts,
    senderId: number,
  ) {
    this.#wholeRegions = wholeRegions(senderId);
    this.#applicationMemory = applicationMemory(senderId);
  }

  begin(number: number, byteLength: number): void {
    this.#waiting.push({ number, byteLength });
    this.admit();
  }

  /**
   * Admits waiting messages up to the limit. Called when the application has read one, and when the limit is lifted.
   */
  admit(): void {
    while (this.#waiting.length > 0 && this.ports.unread() + this.#arriving < this.#limit) {
      this.#arriving += 1;
      void this.#obtain(this.#waiting.shift()!);
    }
  }

  /** The application closes the group: unread messages do not delay further ones any more. */
  liftLimit(): void {
    this.#limit = Number.POSITIVE_INFINITY;
    this.admit();
  }

  /** The message is complete. */
  collect(number: number): ReceivedMessage {
    const { region, offset, byteLength, givesBack, hold } = this.#placed.get(number)!;
    hold[Symbol.dispose]();
    this.#placed.delete(number);
    this.#arriving -= 1;
    const memory = givesBack ? this.#wholeRegions : this.#applicationMemory;
    return new ReceivedMessage(number, region, offset, byteLength, memory);
  }

  /** The group has ended; memory of incomplete messages returns to the node. */
  dispose(reason: unknown): void {
    this.#controller.abort(reason);
    for (const { region, givesBack, hold } of this.#placed.values()) {
      hold[Symbol.dispose]();
      if (givesBack) void region.close();
    }
    this.#placed.clear();
    this.#waiting.length = 0;
  }

  /** Memory was handed out, and its pages cannot be had. */
  #late(error: unknown): void {
    if (!this.#controller.signal.aborted) this.ports.failed(error);
  }

  async #obtain({ number, byteLength }: Begun): Promise<void> {
    try {
      const { signal } = this.#controller;
      const given = await (this.handler
        ? this.handler(byteLength, { signal })
        : receiveMemory(this.environment, byteLength, signal, (error) => this.#late(error)));
      const { region, offset } = checkRange('incoming', given, byteLength, this.environment.device);
      checkWritable(region);
      // If `incoming` gave a part, other messages may use the same region.
      const givesBack = region === given && this.environment.allocated(region);
      if (signal.aborted) {
        if (givesBack) void region.close();
        return;
      }
      this.#placed.set(number, { number, byteLength, region, offset, givesBack, hold: region.hold() });
      const rkey = region.hostAccess ? NO_RKEY : region.rkey;
      this.ports.place(number, region.address + offset, region.lkey, rkey);
    } catch (error) {
      this.ports.failed(error);
    }
  }
}
