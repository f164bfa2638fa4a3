import { Counter } from './worker/counters.js';

/** The progress of a group at this member since its creation. Bytes are those of messages, without headers. */
export interface GroupProgress {
  /** Blocks that have arrived. */
  readonly blocksReceived: number;
  /** Bytes that have arrived. */
  readonly bytesReceived: number;
  /** Sizes of all messages that have begun to arrive: `bytesReceived / bytesExpected` is the progress. */
  readonly bytesExpected: number;
  /** Messages that are complete here. */
  readonly messagesReceived: number;
  /** Blocks whose sending the device has confirmed. */
  readonly blocksSent: number;
  /** Bytes whose sending the device has confirmed. */
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

export function progressOf(counters: Float64Array): GroupProgress {
  const at = (slot: number): number => counters[slot]!;
  return {
    blocksReceived: at(Counter.BLOCKS_RECEIVED),
    bytesReceived: at(Counter.BYTES_RECEIVED),
    bytesExpected: at(Counter.BYTES_EXPECTED),
    messagesReceived: at(Counter.MESSAGES_RECEIVED),
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
    const sum = progress.blocksReceived + progress.blocksSent;
    if (sum === this.#last) return;
    this.#last = sum;
    this.listener(progress);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
