import { SingleConsumer } from '@rdmc/common';
import { CastError } from '../errors.js';
import type { ReceiverEvent } from '../receiver-events.js';

/** Events nobody has read are kept, up to this many. */
const MAX_UNREAD = 1_000;

/** What has happened, for one consumer. Of a cast's progress only the latest is kept. */
export function eventQueue(): SingleConsumer<ReceiverEvent> {
  return new SingleConsumer({
    most: MAX_UNREAD,
    replaces: (next, { type, castId }) => type === 'progress' && castId === next.castId,
    taken: () => {
      const message = 'The events of a receiver have one consumer, and there is one';
      return new CastError('ERR_RDMC_ITERATOR_TAKEN', message);
    },
  });
}
