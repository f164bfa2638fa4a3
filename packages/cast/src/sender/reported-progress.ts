import type { ProgressFrame } from '../control/frames.js';
import { CastError } from '../errors.js';

type Progress = Omit<ProgressFrame, 'type'>;

const NOTHING: Progress = { receivedMessages: 0, partialBytes: 0, storedMessages: 0, writerBusyMs: 0 };

/** The reports of a receiver about its messages. A report that contradicts the ones before ends the connection. */
export class ReportedProgress {
  latest = NOTHING;

  constructor(private readonly name: string) {}

  /** @param madeMessages messages of all its streams so far @throws CastError ERR_RDMC_CAST_PROTOCOL */
  take(frame: ProgressFrame, madeMessages: number): void {
    const { receivedMessages, storedMessages } = frame;
    this.checkReceived(receivedMessages, madeMessages);
    if (storedMessages < this.latest.storedMessages || storedMessages > receivedMessages) {
      throw this.#inconsistent(`it has stored ${storedMessages} of ${receivedMessages} messages`);
    }
    this.latest = frame;
  }

  /**
   * The sender does not read messages again that all receivers have reported, so a report must not shrink.
   * @throws CastError ERR_RDMC_CAST_PROTOCOL
   */
  checkReceived(receivedMessages: number, madeMessages: number): void {
    if (receivedMessages < this.latest.receivedMessages)
      throw this.#inconsistent(`it has ${receivedMessages} messages`);
    if (receivedMessages > madeMessages) {
      throw this.#inconsistent(`it has ${receivedMessages} messages, more than were sent`);
    }
  }

  #inconsistent(claim: string): CastError {
    const { receivedMessages, storedMessages } = this.latest;
    const before = `its report before: ${receivedMessages} received, ${storedMessages} stored`;
    const message = `${this.name} reports that ${claim}; ${before}; it was dropped, and the others continue`;
    return new CastError('ERR_RDMC_CAST_PROTOCOL', message, { receiver: this.name });
  }
}
