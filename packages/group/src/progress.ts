import { Counter } from './worker/counters.js';

/** The progress of a group at this member since its creation. Bytes are those of messages, without headers. */
export interface GroupProgress {
  /** Blocks that have arrived. */
  readonly blocksReceived: number;
  /** Bytes that have arrived. */
  readonly bytesReceived: number;
  /** Sizes of all messages that have begun to arrive: `bytesReceived / bytesExpected` is the progress. */
  readonly bytesExpected: number;
  /** Messages that are complete here; small ones count when this thread takes them out of the ring. */
  readonly messagesReceived: number;
  /** Blocks whose sending the device has confirmed. */
  readonly blocksSent: number;
  /** Bytes whose sending the device has confirmed, small messages included. */
  readonly bytesSent: number;
  /** Messages of this root that every neighbour has received. */
  readonly messagesSent: number;
  /** Copies of first blocks into their places: one per message. There are no other copies. */
  readonly firstBlockCopies: number;
  /** Bytes that these copies moved. */
  readonly bytesCopied: number;
  /** Announcements of readiness sent. */
  readonly announcements: number;
}

/** @param small small messages that are complete at a receiver, and their bytes, which the worker does not count */
export function progressOf(
  counters: Float64Array,
  small: { readonly messages: number; readonly bytes: number },
): GroupProgress {
  const at = (slot: number): number => counters[slot]!;
  return {
    blocksReceived: at(Counter.BLOCKS_RECEIVED),
    bytesReceived: at(Counter.BYTES_RECEIVED) + small.bytes,
    bytesExpected: at(Counter.BYTES_EXPECTED) + small.bytes,
    messagesReceived: at(Counter.MESSAGES_RECEIVED) + small.messages,
    blocksSent: at(Counter.BLOCKS_SENT),
    bytesSent: at(Counter.BYTES_SENT),
    messagesSent: at(Counter.MESSAGES_SENT),
    firstBlockCopies: at(Counter.FIRST_BLOCK_COPIES),
    bytesCopied: at(Counter.BYTES_COPIED),
    announcements: at(Counter.ANNOUNCEMENTS),
  };
}

/** Calls `listener` after every `intervalMs` with a change. Does not keep the process alive. */
export class ProgressWatch {
  readonly #timer: NodeJS.Timeout;
  #last = -1;

  constructor(
    private readonly read: () => GroupProgress,
    private readonly listener: (progress: GroupProgress) => void,
    intervalMs: number,
  ) {
    this.#timer = setInterval(() => this.look(), intervalMs);
    this.#timer.unref();
  }

  /** Reports the progress if it has changed since the last report. */
  look(): void {
    const progress = this.read();
    const { blocksReceived, blocksSent, messagesReceived, messagesSent } = progress;
    const sum = blocksReceived + blocksSent + messagesReceived + messagesSent;
    if (sum === this.#last) return;
    this.#last = sum;
    this.listener(progress);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
