import type { OpenDevice, ReceiveWorkRequest } from './contract.js';
import { closeUnlessGone, native } from './native.js';
import { postReceives } from './posting.js';

/**
 * Receives for many queue pairs: the queue pair that gets a message consumes the next one (IBA 10.2.9). Only on
 * devices with `attributes.sharedReceiveQueues`. Usable by one thread at a time.
 */
export class SharedReceiveQueue {
  #closed = false;

  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** The number that receives are posted to on the fast path, instead of a queue pair's number. */
    readonly number: number,
    /** Receives that may be outstanding. */
    readonly depth: number,
  ) {}

  /** Posts receives. @throws PostError */
  postReceive(...requests: readonly ReceiveWorkRequest[]): void {
    postReceives(this.device, this.number, requests);
  }

  /** Fails with ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY while queue pairs use it; idempotent. */
  close(): Promise<void> {
    if (!this.#closed) {
      closeUnlessGone(() => native().sharedReceiveQueueDestroy(this.device.handle, this.number));
      this.#closed = true;
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
