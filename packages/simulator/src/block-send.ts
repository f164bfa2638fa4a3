import type { SendRequest } from './send-request.js';
import type { TraceRecord } from './trace.js';

/** What a block's sender and its receiver do when the NIC is done with it. */
export interface BlockSender {
  /** The time now, for the trace. */
  readonly now: number;
  /** The block is in the memory of the neighbour `pair`. */
  delivered(block: BlockToPair): void;
  /** Its completion is raised. */
  acknowledged(block: BlockToPair): void;
}

/** A block, the neighbour `pair` that it goes to, and the slot of the machine's send window. */
export interface BlockToPair {
  readonly pair: number;
  readonly slot: number;
  readonly block: number;
  readonly bytes: number;
}

/** One block on its way, from the machine's request to the completion. */
export class BlockSend implements SendRequest {
  constructor(
    private readonly sender: BlockSender,
    readonly to: BlockToPair,
    readonly delay: number,
    private readonly record: TraceRecord | undefined,
  ) {}

  get bytes(): number {
    return this.to.bytes;
  }

  posted(): void {
    if (this.record) this.record.posted = this.sender.now;
  }

  started(): void {
    if (this.record) this.record.started = this.sender.now;
  }

  finished(): void {
    if (this.record) this.record.finished = this.sender.now;
  }

  arrived(): void {
    this.sender.delivered(this.to);
  }

  completed(): void {
    this.sender.acknowledged(this.to);
  }
}
