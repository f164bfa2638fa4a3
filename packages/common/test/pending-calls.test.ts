import { expect, it } from 'vitest';
import { PendingCalls } from '../src/index.js';

it('settles each call by its number, once', async () => {
  const calls = new PendingCalls<string>();
  const numbers: number[] = [];
  const send = (id: number): void => void numbers.push(id);
  const [first, second] = [calls.start(undefined, send), calls.start(undefined, send)];
  expect(calls.size).toBe(2);
  expect(calls.resolve(numbers[1]!, 'two')).toBe(true);
  expect(calls.reject(numbers[0]!, new Error('one'))).toBe(true);
  expect(calls.resolve(numbers[1]!, 'again')).toBe(false);
  await expect(second).resolves.toBe('two');
  await expect(first).rejects.toThrow('one');
  expect(calls.size).toBe(0);
});

it('rejects with what sending throws', async () => {
  const calls = new PendingCalls();
  const call = calls.start(undefined, () => {
    throw new Error('full');
  });
  await expect(call).rejects.toThrow('full');
  expect(calls.size).toBe(0);
});

it('rejects the calls of one party, and after the end every call', async () => {
  const calls = new PendingCalls<string, number>();
  const numbers: number[] = [];
  const [lost, kept] = [3, 4].map((member) => calls.start(member, (id) => numbers.push(id)));
  expect(calls.party(numbers[0]!)).toBe(3);
  calls.rejectAll(new Error('3 is lost'), (member) => member === 3);
  await expect(lost).rejects.toThrow('3 is lost');
  expect(calls.has(numbers[1]!)).toBe(true);
  calls.end(new Error('over'));
  calls.end(new Error('over again'));
  await expect(kept).rejects.toThrow('over');
  await expect(calls.start(5, (id) => numbers.push(id))).rejects.toThrow(/^over$/);
  expect(numbers).toHaveLength(2);
});
