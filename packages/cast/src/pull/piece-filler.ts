import type { FilledMessage } from '../reader/message-source.js';
import type { FillOrder } from '../reader/orders.js';
import type { MessageFiller } from '../sender/pump.js';
import type { PullReaderThread } from './pull-reader-thread.js';
import type { ChangedFile } from './reader-orders.js';

const NO_MESSAGE: FilledMessage = { bytes: 0, last: true, contentBytes: 0, keptBytes: 0 };

/** Fills the messages of one run, until its pieces are sent or `stop` is called. */
export class PieceFiller implements MessageFiller {
  /** The pieces of each message. */
  readonly messages: (readonly number[])[] = [];
  /** Bytes of the messages, and of the pieces in them. */
  bytes = 0;
  contentBytes = 0;
  #position = 0;
  #stopped = false;

  constructor(
    private readonly reader: Pick<PullReaderThread, 'fill'>,
    private readonly pieces: Uint32Array,
    /** Bytes of each piece. */
    private readonly costs: Float64Array,
    private readonly onChanged: (changed: readonly ChangedFile[]) => void,
  ) {}

  /** Pieces that no message has yet. */
  get remaining(): Uint32Array {
    return this.pieces.subarray(this.#position);
  }

  /** The run ends with the message that is being filled. */
  stop(): void {
    this.#stopped = true;
  }

  async enterRun(): Promise<void> {}

  async fill({ region, byteLength, sequence }: FillOrder): Promise<FilledMessage> {
    if (this.#stopped) return NO_MESSAGE;
    const { bytes, pieces, position, changed } = await this.reader.fill({ region, byteLength, sequence });
    this.#position = Math.max(this.#position, position);
    if (changed.length > 0) this.onChanged(changed);
    if (bytes === 0) return NO_MESSAGE;
    this.messages[sequence] = pieces;
    this.bytes += bytes;
    for (const piece of pieces) this.contentBytes += this.costs[piece]!;
    return { bytes, last: this.#position === this.pieces.length, contentBytes: 0, keptBytes: 0 };
  }
}
