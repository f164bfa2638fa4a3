import { type Subscription, subscription } from '@rdmc/common';
import type { FrameHandler, MeshConnection } from '@rdmc/mesh';
import type { Frame } from '@rdmc/mesh/sockets';

/** One end of a connection whose frames are delivered when the test says so. */
export class WireEnd implements Pick<MeshConnection, 'send' | 'receive' | 'bufferedBytes' | 'onDrain'> {
  readonly signal = new AbortController().signal;
  readonly isOpen = true;
  readonly bufferedBytes = 0;
  /** Frames that the other end has not got. */
  readonly sent: Frame[] = [];
  #take: FrameHandler = () => {};
  #isBusy = false;

  send(type: number, ...parts: readonly Buffer[]): void {
    this.sent.push({ type, payload: Buffer.concat(parts) });
  }

  receive(_maxFrameBytes: number, take: FrameHandler): void {
    this.#take = take;
  }

  onDrain(): Subscription {
    return subscription(() => {});
  }

  async close(reason?: Error): Promise<void> {
    throw reason ?? new Error('closed');
  }

  /** Gives this end the next frame of the other one, unless the one before is still at work. */
  deliver(from: WireEnd): void {
    if (this.#isBusy || from.sent.length === 0) return;
    const work = this.#take(from.sent.shift()!);
    if (work === undefined) return;
    this.#isBusy = true;
    void work.then(() => {
      this.#isBusy = false;
    });
  }
}
