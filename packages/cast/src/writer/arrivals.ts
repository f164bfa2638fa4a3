import { MessageOpener } from '../seal/message-opener.js';
import { checkOutline } from '../stream/outline.js';
import { WorkerRegions } from '../worker-regions.js';
import type { EnterOrder, StoreOrder } from './orders.js';

/** The messages that have arrived, in the memory that they arrived in. */
export class Arrivals {
  #regions: WorkerRegions | undefined;
  /** Decrypts the messages of the current run; undefined where they are not encrypted. */
  #opener: MessageOpener | undefined;

  /** @param step called after each record that was decrypted; it may throw, which ends the message */
  constructor(private readonly step: () => void) {}

  attach(device: number): void {
    this.#regions = new WorkerRegions(device);
  }

  enterRun({ seal }: EnterOrder): void {
    this.#opener = seal && new MessageOpener(seal, this.step);
  }

  /**
   * Returns a message, decrypted and compared with the hash of its outline, as far as the cast has these.
   * @throws CastError ERR_RDMC_DECRYPT_FAILED, ERR_RDMC_HASH_MISMATCH, ERR_RDMC_CAST_PROTOCOL
   */
  message({ region, byteLength, sequence, outline }: StoreOrder): Buffer {
    const arrived = this.#regions!.buffer(region, byteLength);
    const message = this.#opener ? this.#opener.open(arrived, sequence) : arrived;
    if (outline !== undefined) checkOutline(message, sequence, outline);
    return message;
  }
}
