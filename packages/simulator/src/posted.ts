/** A receive that the NIC has. */
export interface PostedReceive {
  readonly slot: number;
  readonly byteLength: number;
}

/** The receives of one queue pair, filled in the order in which they were posted. */
export class ReceiveQueue {
  readonly #posted: PostedReceive[] = [];

  post(receive: PostedReceive): void {
    this.#posted.push(receive);
  }

  /** The receive that the next block fills; `undefined` is a receiver that was not ready. */
  take(): PostedReceive | undefined {
    return this.#posted.shift();
  }

  get length(): number {
    return this.#posted.length;
  }
}
