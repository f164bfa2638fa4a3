import { blockCount, blockLength } from '../blocks.js';
import { NO_KEY } from './block-range.js';
import type { MemberPlan } from './plans.js';

/** A message that this member is sending, or receiving and passing on. */
export class OpenMessage {
  readonly blocks: number;
  /** Blocks that are here. */
  received = 0;
  /** How far receives have been posted in `plan.receives`, and sends in `plan.sends`. */
  receivesPosted = 0;
  sendsPosted = 0;
  sendsCompleted = 0;
  /** `sendsPosted` has reached the end of the plan. */
  sendsEnded = false;
  /** Where the message lies; −1 while the application has not given memory. */
  address = -1;
  lkey = NO_KEY;
  /** The first-block buffer it uses, or −1; and what lies in it. */
  buffer = -1;
  firstBlock = -1;
  /** Sends from that buffer which have not completed. */
  sendsFromBuffer = 0;
  /** One bit per block that is here; a source has them all. */
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
      this.sendsEnded &&
      this.sendsCompleted === this.sendsPosted
    );
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
