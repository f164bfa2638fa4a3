import { type MemoryRegion, VerbsError } from '@rdmc/verbs';

/** The owner of a message's memory, which gets it back. */
export interface MessageMemory {
  /** Called once, when the application does not need the message any more. */
  released(message: ReceivedMessage): void;
}

/** A whole region of the node's pool. */
export const wholeRegion: MessageMemory = { released: ({ region }) => void region.close() };

/** A complete message. Its memory belongs to the application until `release()`. */
export class ReceivedMessage {
  #released = false;

  /** @internal */
  constructor(
    /** Position in the group's sequence of messages, from 0. */
    readonly number: number,
    /** The region that has the message. */
    readonly region: MemoryRegion,
    /** Offset of its first byte in `region`. */
    readonly offset: number,
    /** Length in bytes; 0 is possible. */
    readonly byteLength: number,
    /** Gets the memory at `release`; undefined: it stays with the application. */
    private readonly memory: MessageMemory | undefined,
  ) {}

  /**
   * The bytes in place, without a copy. Read a message that is too long for one typed array in parts, with
   * `region.view(offset + position, length)`.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED after `release`
   */
  get view(): Uint8Array {
    if (this.#released && this.memory) {
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
    this.memory?.released(this);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
