import { tracingChannel } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import { Tracer } from '../src/index.js';

const unused = (): never => {
  throw new Error('made a message that nobody gets');
};

/** Subscribes to everything of a channel until `end`. */
function watch(name: string) {
  const seen: [event: string, message: object][] = [];
  const at = (event: string) => (message: unknown) => void seen.push([event, { ...(message as object) }]);
  const handlers = {
    start: at('start'),
    end: at('end'),
    asyncStart: at('asyncStart'),
    asyncEnd: at('asyncEnd'),
    error: at('error'),
  };
  const channel = tracingChannel<unknown, object>(name);
  channel.subscribe(handlers);
  return { seen, end: () => channel.unsubscribe(handlers) };
}

describe('a tracer', () => {
  it('makes no message without a subscriber, and returns what the operation returns', async () => {
    const tracer = new Tracer('@rdmc/common:quiet');
    expect(tracer.isWatched).toBe(false);
    const promise = Promise.resolve(1);
    expect(tracer.promise(unused, () => promise)).toBe(promise);
    expect(tracer.sync(unused, () => 2)).toBe(2);
  });

  it('tells a subscriber the message, and the result or the error', async () => {
    const tracer = new Tracer<{ id: number }>('@rdmc/common:loud');
    const { seen, end } = watch(tracer.name);
    expect(tracer.isWatched).toBe(true);
    const failure = new Error('no');
    expect(
      await tracer.promise(
        () => ({ id: 1 }),
        async () => 'yes',
      ),
    ).toBe('yes');
    await expect(
      tracer.promise(
        () => ({ id: 2 }),
        () => Promise.reject(failure),
      ),
    ).rejects.toBe(failure);
    expect(
      tracer.sync(
        () => ({ id: 3 }),
        () => 'now',
      ),
    ).toBe('now');
    end();
    expect(tracer.isWatched).toBe(false);
    expect(seen).toContainEqual(['start', { id: 1 }]);
    expect(seen).toContainEqual(['asyncEnd', { id: 1, result: 'yes' }]);
    expect(seen).toContainEqual(['error', { id: 2, error: failure }]);
    expect(seen).toContainEqual(['end', { id: 3, result: 'now' }]);
  });

  it('sees subscribers that come after the tracer', () => {
    const tracer = new Tracer<object>('@rdmc/common:late');
    const { end } = watch(tracer.name);
    expect(tracer.isWatched).toBe(true);
    end();
  });
});
