import type { SendRequest } from './send-request.js';
import type { TraceRecord } from './trace.js';

/** What a block's sender and its receiver do when the NIC is done with it. */
export interface BlockSender {
  /** The time now, for the trace. */
  readonly now: number;
  /** Whether a block may leave: a relay waits for it. */
  isReleased(block: BlockToPair): boolean;
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
  /** Whether its completion wakes the neighbour's thread, where that waits for such ones. */
  readonly wakes: boolean;
  /** Of the sender: where the header is. */
  readonly headerSlot: number;
  /** Of a relay: the neighbour whose blocks it waits for, and how many of them must have come. */
  readonly after: { readonly from: number; readonly receives: number } | undefined;
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

  get isReleased(): boolean {
    return this.sender.isReleased(this.to);
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
