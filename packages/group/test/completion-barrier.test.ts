import { Layout } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import { CompletionBarrier } from '../src/worker/completion-barrier.js';

it('a barrier of completions ends after as many turns as take a full completion queue, and asks for each of them', async () => {
  const depth = 2 * Layout.POLL_SLOTS + 1;
  let asked = 0;
  const barrier = new CompletionBarrier({
    completionQueue: { depth },
    wake: () => {
      asked += 1;
    },
  } as unknown as ConstructorParameters<typeof CompletionBarrier>[0]);
  const passed: string[] = [];
  barrier.onTurn();
  expect(asked).toBe(0);
  const first = barrier.pass().then(() => passed.push('first'));
  barrier.onTurn();
  const second = barrier.pass().then(() => passed.push('second'));
  barrier.onTurn();
  await Promise.resolve();
  expect(passed).toEqual([]);
  barrier.onTurn();
  await first;
  expect(passed).toEqual(['first']);
  barrier.onTurn();
  await second;
  // Two calls, and a further turn after each turn that left one waiting.
  expect(asked).toBe(5);
});
