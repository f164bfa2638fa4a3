import { type MemoryRegion, VerbsError } from '@rdmc/verbs';

/** The owner of the memory of messages of one sender, which gets it back. */
export interface MessageMemory {
  /** Id of the member that sends these messages. */
  readonly senderId: number;
  /** The memory stays with the application, which may read it after the release too. */
  readonly stays?: boolean;
  /** Called once, when the application does not need the message any more. */
  released(message: ReceivedMessage): void;
}

/** Whole regions of the node's pool. */
export function wholeRegions(senderId: number): MessageMemory {
  return { senderId, released: ({ region }) => void region.close() };
}

/** Memory that the application gave and keeps. */
export function applicationMemory(senderId: number): MessageMemory {
  return { senderId, stays: true, released: () => {} };
}

/** A complete message. Its memory belongs to the application until `release()`. */
export class ReceivedMessage {
  #released = false;
  #number: number;

  /** @internal */
  constructor(
    number: number,
    /** The region that has the message. */
    readonly region: MemoryRegion,
    /** Offset of its first byte in `region`. */
    readonly offset: number,
    /** Length in bytes; 0 is possible. */
    readonly byteLength: number,
    /** Gets the memory at `release`. */
    private readonly memory: MessageMemory,
  ) {
    this.#number = number;
  }

  /** Id of the member that sent it. */
  get senderId(): number {
    return this.memory.senderId;
  }

  /** Position from 0: in the sequence of its sender; with the order 'total', in the one sequence of the group. */
  get number(): number {
    return this.#number;
  }

  /** Gives the message its position, when it is known. @internal */
  numberAs(number: number): void {
    this.#number = number;
  }

  /**
   * The bytes in place, without a copy. Read a message that is too long for one typed array in parts, with
   * `region.view(offset + position, length)`.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED after `release`
   */
  get view(): Uint8Array {
    if (this.#released && !this.memory.stays) {
      throw new VerbsError('ERR_RDMC_REGION_CLOSED', 'The message was released; read it before release()');
    }
    return this.region.view(this.offset, this.byteLength);
  }

  /**
   * The application does not need the message any more. Memory of the group, or a whole region from `node.allocate`,
   * goes back; other memory stays with the application. Idempotent.
   */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.memory.released(this);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
