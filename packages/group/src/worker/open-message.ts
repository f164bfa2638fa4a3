import { blockCount, blockLength } from '../blocks.js';
import { NO_KEY } from './block-range.js';
import type { MemberPlan } from './plans.js';

/** A message that this member sends, or receives and relays. */
export class OpenMessage {
  readonly blocks: number;
  /** The number of received blocks. */
  received = 0;
  /** The number of posted entries of `plan.receives`, and of `plan.sends`. */
  receivesPosted = 0;
  sendsPosted = 0;
  sendsCompleted = 0;
  /** `sendsPosted` has reached the end of the plan. */
  sendsEnded = false;
  /** The address of the message; −1 while the application has not given memory. */
  address = -1;
  lkey = NO_KEY;
  /** The first-block buffer of the message, or −1; and the block that came in it, or −1. */
  buffer = -1;
  firstBlock = -1;
  /** Sends from that buffer that have not completed. */
  sendsFromBuffer = 0;
  /** A loop-back WRITE copies the first block into its place. Until it has completed, the buffer has the only copy. */
  isWriting = false;
  /** One bit per received block; undefined at the source, which has all blocks. */
  readonly #here: Uint32Array | undefined;

  constructor(
    readonly number: number,
    readonly byteLength: number,
    readonly blockBytes: number,
    readonly plan: MemberPlan,
    readonly isSource: boolean,
  ) {
    this.blocks = blockCount(byteLength, blockBytes);
    this.#here = isSource ? undefined : new Uint32Array(Math.ceil(this.blocks / 32));
    if (isSource) this.received = this.blocks;
    if (isSource) this.receivesPosted = this.blocks;
  }

  get placed(): boolean {
    return this.address !== -1;
  }

  get finished(): boolean {
    return (
      this.received === this.blocks &&
      this.placed &&
      !this.isWriting &&
      this.sendsEnded &&
      this.sendsCompleted === this.sendsPosted
    );
  }

  /** Whether a block that is here is in the first-block buffer only. */
  isInBuffer(block: number): boolean {
    return !this.placed || (this.isWriting && block === this.firstBlock);
  }

  has(block: number): boolean {
    return this.#here === undefined || ((this.#here[block >>> 5]! >>> (block & 31)) & 1) === 1;
  }

  markReceived(block: number): void {
    this.#here![block >>> 5]! |= 1 << (block & 31);
    this.received += 1;
  }

  length(block: number): number {
    return blockLength(this.byteLength, this.blockBytes, block);
  }

  /** Address of a block in its place. */
  place(block: number): number {
    return this.address + block * this.blockBytes;
  }
}
