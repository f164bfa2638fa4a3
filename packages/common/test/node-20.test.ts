import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { anySignal } from '../src/index.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
}

it('is aborted by a time-out that nobody else holds, also where it is a source of another one', async () => {
  const never = new AbortController().signal;
  const waiting = [
    aborted(anySignal(never, AbortSignal.timeout(200))),
    aborted(anySignal(never, anySignal(never, AbortSignal.timeout(200)))),
  ];
  // Turns of the loop between collections: what only this function's calls held is gone.
  for (let turn = 0; turn < 5; turn += 1) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const reason = expect.objectContaining({ name: 'TimeoutError' });
  expect(await Promise.all(waiting)).toEqual([reason, reason]);
});

it('takes the reason of the first, also of one that was aborted before', () => {
  const first = new AbortController();
  const second = new AbortController();
  const any = anySignal(first.signal, second.signal);
  expect(any.aborted).toBe(false);
  // Without a listener Node.js 24 looks at the sources when it is asked, in their order.
  any.addEventListener('abort', () => {});
  second.abort('enough');
  first.abort('too late');
  expect(any.reason).toBe('enough');
  expect(anySignal(first.signal).reason).toBe('too late');
});
