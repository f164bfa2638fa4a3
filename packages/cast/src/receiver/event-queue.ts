import { CastError } from '../errors.js';
import type { ReceiverEvent } from '../receiver-events.js';

/** Events nobody has read are kept, up to this many. */
const MAX_UNREAD = 1_000;

/** What has happened, for one consumer. Of a cast's progress only the latest is kept. */
export class EventQueue implements AsyncIterable<ReceiverEvent> {
  readonly #events: ReceiverEvent[] = [];
  #ended = false;
  #taken = false;
  #wake: (() => void) | undefined;

  push(event: ReceiverEvent): void {
    const stale = this.#events.findIndex(
      ({ type, castId }) => type === 'progress' && castId === event.castId,
    );
    if (stale !== -1) this.#events.splice(stale, 1);
    this.#events.push(event);
    if (this.#events.length > MAX_UNREAD) this.#events.shift();
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** @throws CastError ERR_RDMC_ITERATOR_TAKEN */
  async *[Symbol.asyncIterator](): AsyncGenerator<ReceiverEvent, void, undefined> {
    if (this.#taken) {
      throw new CastError(
        'ERR_RDMC_ITERATOR_TAKEN',
        'The events of a receiver have one consumer, and there is one',
      );
    }
    this.#taken = true;
    try {
      for (;;) {
        const event = this.#events.shift();
        if (event) yield event;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#taken = false;
    }
  }
}
