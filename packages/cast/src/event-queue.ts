import { SingleConsumer } from '@rdmc/common';
import { CastError } from '../errors.js';
import type { ReceiverEvent } from '../receiver-events.js';

/** Most unread events that are kept. */
const MAX_UNREAD = 1_000;

/** Events for one consumer. Only the latest progress event of a cast is kept. */
export function eventQueue(): SingleConsumer<ReceiverEvent> {
  return new SingleConsumer({
    most: MAX_UNREAD,
    replaces: (next, { type, castId }) => type === 'progress' && castId === next.castId,
    taken: () => {
      const message =
        'the events of a receiver are being iterated already; share what the first iterator yields';
      return new CastError('ERR_RDMC_ITERATOR_TAKEN', message);
    },
  });
}
