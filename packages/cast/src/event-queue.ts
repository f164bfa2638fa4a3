import { SingleConsumer } from '@rdmc/common';
import { CastError } from './errors.js';

/** Most unread events that are kept. */
const MAX_UNREAD = 1_000;

/**
 * Events for one consumer. An unread progress event gives way to the next event of the same cast or fetch.
 *
 * @param owner whose events they are
 * @param subjectOf the id of the cast or fetch that an event is about
 */
export function eventQueue<Event extends { readonly type: string }>(
  owner: string,
  subjectOf: (event: Event) => string | undefined,
): SingleConsumer<Event> {
  return new SingleConsumer<Event>({
    most: MAX_UNREAD,
    replaces: (next, waiting) => waiting.type === 'progress' && subjectOf(waiting) === subjectOf(next),
    taken: () => {
      const message = `the events of ${owner} are being iterated already; share what the first iterator yields`;
      return new CastError('ERR_RDMC_ITERATOR_TAKEN', message);
    },
  });
}
