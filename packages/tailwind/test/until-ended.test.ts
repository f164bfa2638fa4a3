import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { untilEnded } from '../src/log/until-ended.js';

it('what fails for a log that has ended already is not an unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => unhandled.push(reason));
  try {
    const ended = AbortSignal.abort(new Error('the log has ended'));
    await expect(untilEnded(Promise.reject(new Error('closed')), ended)).rejects.toThrow('has ended');
    await turn();
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
  expect(unhandled).toEqual([]);
});
