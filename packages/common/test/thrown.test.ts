import { expect, it } from 'vitest';
import { codeOf, Deferred, messageOf } from '../src/index.js';

it('reads whatever was thrown', () => {
  expect(messageOf(new Error('why'))).toBe('why');
  expect(messageOf('why')).toBe('why');
  expect(codeOf(Object.assign(new Error(), { code: 'ERR_X' }))).toBe('ERR_X');
  for (const odd of [undefined, null, 'ERR_X', { code: 5 }, new Error()]) expect(codeOf(odd)).toBeUndefined();
});

it('a deferred that rejects with nobody waiting is no uncaught error, and still tells who waits later', async () => {
  const deferred = new Deferred<number>();
  deferred.reject(new Error('why'));
  await new Promise((resolve) => setImmediate(resolve));
  await expect(deferred.promise).rejects.toThrow('why');
});
