import { SingleConsumer } from '@rdmc/common';
import type { ReceivedMessage } from '../received-message.js';
import { taken } from '../taken-error.js';

/**
 * With stable delivery a member counts messages while its application has fewer unread ones than this. The other members do
 * not wait for its application then.
 */
export const MOST_UNREAD = 256;
/** Once it has stopped, it goes on when its application has no more unread messages than this. */
const FEW_UNREAD = MOST_UNREAD / 2;

interface ReadAheadOptions {
  /** With stable delivery. */
  readonly isStable: boolean;
  /** The application has taken a message. */
  readonly onTaken?: () => void;
  /** Copies messages out of rings, while `wantsMore`. */
  readonly copyOut: () => void;
}

/** The messages of a member that its application has not read, and whether more may join them. */
export class ReadAhead {
  readonly inbox: SingleConsumer<ReceivedMessage>;
  readonly #most: number;
  #isStopped = false;

  constructor({ isStable, onTaken, copyOut }: ReadAheadOptions) {
    this.#most = isStable ? MOST_UNREAD : 1;
    this.inbox = new SingleConsumer({
      taken,
      refill: copyOut,
      onTaken: () => {
        onTaken?.();
        if (!this.#isStopped || this.inbox.unread > FEW_UNREAD) return;
        this.#isStopped = false;
        copyOut();
      },
    });
  }

  /** Whether a small message may be copied out of a ring. If not, `copyOut` is called later. */
  get wantsMore(): boolean {
    const { unread } = this.inbox;
    if (unread < this.#most) return true;
    // Without stable delivery the application's wait for a message is the time to go on.
    this.#isStopped = this.#most > 1;
    return false;
  }
}
