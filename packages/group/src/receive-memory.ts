/*
 * Memory ahead (option `receive`): one region of equal slots, each for one message.
 *
 *   0             stride         2 stride                         messages · stride
 *   +-------------+--------------+---------------  …  -+----------+
 *   | slot 0      | slot 1       | slot 2              |          |     stride: byteLength, rounded up to 64
 *   +-------------+--------------+---------------  …  -+----------+
 *
 * The worker gives slots to messages that begin (`worker/slot-pool.ts`); the application gives them back.
 */
import type { MemoryRegion } from '@rdmc/verbs';
import { type MessageMemory, ReceivedMessage } from './received-message.js';
import type { SlotSetup } from './records.js';

const LINE_BYTES = 64;

/** The option `receive` of a group: slots for that many messages of at most that many bytes. */
export interface ReceiveAhead {
  /** The number of slots: 1 to 65,536. */
  readonly messages: number;
  /** The largest message that fits into a slot, in bytes: 1 to 2^30. All slots together have less than 2^31 bytes. */
  readonly byteLength: number;
}

/** Distance of the slots, in bytes. */
function strideOf({ byteLength }: ReceiveAhead): number {
  return Math.ceil(byteLength / LINE_BYTES) * LINE_BYTES;
}

/** Bytes of all slots. */
export function receiveBytes(ahead: ReceiveAhead): number {
  return ahead.messages * strideOf(ahead);
}

/** The memory ahead of a receiver, in the application's thread. Its region stays open while a message is in use. */
export class ReceiveMemory implements MessageMemory {
  #used = 0;
  #isClosed = false;

  constructor(
    private readonly ahead: ReceiveAhead,
    private readonly region: MemoryRegion,
    /** Gives a slot back to the worker. */
    private readonly giveBack: (slot: number) => void,
    readonly senderId: number,
  ) {}

  /** The worker's description. */
  get setup(): SlotSetup {
    const { messages, byteLength } = this.ahead;
    return {
      region: this.region.handle,
      slots: messages,
      slotBytes: byteLength,
      stride: strideOf(this.ahead),
    };
  }

  /** The message that is complete in that slot. */
  message(number: number, slot: number, byteLength: number): ReceivedMessage {
    this.#used += 1;
    const offset = slot * strideOf(this.ahead);
    return new ReceivedMessage(number, this.region, offset, byteLength, this);
  }

  released({ offset }: ReceivedMessage): void {
    this.#used -= 1;
    if (!this.#isClosed) this.giveBack(offset / strideOf(this.ahead));
    else if (this.#used === 0) void this.region.close();
  }

  /** The group has ended: the device does not use the slots any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#used === 0) await this.region.close();
  }
}
