import type { LocalKey, MemoryRegion } from '@rdmc/verbs';
import { UNREAD_MESSAGES } from './constants.js';
import type { GroupEnvironment } from './environment.js';
import type { IncomingHandler } from './group-options.js';
import { ReceivedMessage } from './received-message.js';
import { checkRange } from './region-range.js';

interface Begun {
  readonly number: number;
  readonly byteLength: number;
}

interface Placed extends Begun {
  readonly region: MemoryRegion;
  readonly offset: number;
  /** The node's own memory, which goes back to it. */
  readonly givesBack: boolean;
  /** While the message arrives the region cannot be closed. */
  readonly hold: Disposable;
}

/** What the desk needs of its group. */
export interface IncomingPorts {
  place(message: number, address: number, lkey: LocalKey): void;
  unread(): number;
  failed(error: unknown): void;
}

/** Asks the application for memory for messages that begin, unless it has too many unread ones. */
export class IncomingDesk {
  readonly #waiting: Begun[] = [];
  readonly #placed = new Map<number, Placed>();
  readonly #controller = new AbortController();
  #limit = UNREAD_MESSAGES;
  /** Admitted, and not whole yet. */
  #arriving = 0;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly handler: IncomingHandler | undefined,
    private readonly ports: IncomingPorts,
  ) {}

  begin(number: number, byteLength: number): void {
    this.#waiting.push({ number, byteLength });
    this.admit();
  }

  /** Goes on where the application has read, or will read no more. */
  admit(): void {
    while (this.#waiting.length > 0 && this.ports.unread() + this.#arriving < this.#limit) {
      this.#arriving += 1;
      void this.#obtain(this.#waiting.shift()!);
    }
  }

  /** The application closes: what is still to come is no longer held up. */
  liftLimit(): void {
    this.#limit = Number.POSITIVE_INFINITY;
    this.admit();
  }

  /** The message has arrived whole. */
  collect(number: number): ReceivedMessage {
    const { region, offset, byteLength, givesBack, hold } = this.#placed.get(number)!;
    hold[Symbol.dispose]();
    this.#placed.delete(number);
    this.#arriving -= 1;
    return new ReceivedMessage(number, region, offset, byteLength, givesBack);
  }

  /** The group has ended; memory for messages that will never be whole goes back to the node. */
  dispose(reason: unknown): void {
    this.#controller.abort(reason);
    for (const { region, givesBack, hold } of this.#placed.values()) {
      hold[Symbol.dispose]();
      if (givesBack) void region.close();
    }
    this.#placed.clear();
    this.#waiting.length = 0;
  }

  async #obtain({ number, byteLength }: Begun): Promise<void> {
    try {
      const { signal } = this.#controller;
      const given = await (this.handler
        ? this.handler(byteLength, { signal })
        : this.environment.allocate(byteLength, { signal }));
      const { region, offset } = checkRange('incoming', given, byteLength, this.environment.device);
      // A part of a region may share it with other messages.
      const givesBack = region === given && this.environment.allocated(region);
      if (signal.aborted) {
        if (givesBack) void region.close();
        return;
      }
      this.#placed.set(number, { number, byteLength, region, offset, givesBack, hold: region.hold() });
      this.ports.place(number, region.address + offset, region.lkey);
    } catch (error) {
      this.ports.failed(error);
    }
  }
}
