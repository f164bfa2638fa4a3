/** The end of a channel that holds messages; handles name them. */
export interface MessageHolder {
  partsOf(handle: number): Uint8Array[];
  release(handle: number): void;
}

/** A message of a requester. Its bytes are in the channel's slots, and belong to the application until `release()`. */
export class Message implements Disposable {
  /** @internal */
  constructor(
    private readonly responder: MessageHolder,
    /** For the handle calls of the responder. */
    readonly handle: number,
    /** The member that sent it. */
    readonly from: number,
    /** Length of the content in bytes. */
    readonly byteLength: number,
  ) {}

  /**
   * The bytes in place, one view per slot: one view unless the message is longer than a slot. Not a copy: do not use it
   * after `release()`.
   * @throws HiPowerError ERR_RDMC_HIPOWER_RELEASED
   */
  get parts(): Uint8Array[] {
    return this.responder.partsOf(this.handle);
  }

  /** All bytes: in place if the message has one part, else a copy. @throws HiPowerError ERR_RDMC_HIPOWER_RELEASED */
  get bytes(): Uint8Array {
    const { parts } = this;
    if (parts.length === 1) return parts[0]!;
    const whole = new Uint8Array(this.byteLength);
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.byteLength;
    }
    return whole;
  }

  /** Releases the slots. Call it once. @throws HiPowerError ERR_RDMC_HIPOWER_RELEASED, ERR_RDMC_HIPOWER_CLOSED */
  release(): void {
    this.responder.release(this.handle);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
