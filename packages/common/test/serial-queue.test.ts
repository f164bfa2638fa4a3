import { expect, it } from 'vitest';
import { Deferred, SerialQueue } from '../src/index.js';

it('runs one job after the other, and goes on after one that fails', async () => {
  const queue = new SerialQueue();
  const gates = [new Deferred<number>(), new Deferred<number>(), new Deferred<number>()];
  const begun: number[] = [];
  const jobs = gates.map((gate, index) =>
    queue.run(() => {
      begun.push(index);
      return gate.promise;
    }),
  );
  expect(begun).toEqual([]);
  expect(queue.length).toBe(3);
  gates[1]!.reject(new Error('no'));
  gates[0]!.resolve(10);
  await expect(jobs[0]).resolves.toBe(10);
  await expect(jobs[1]).rejects.toThrow('no');
  const idle = queue.idle();
  gates[2]!.resolve(30);
  await idle;
  expect(begun).toEqual([0, 1, 2]);
  expect(queue.length).toBe(0);
  await expect(
    queue.run(() => {
      throw new Error('at once');
    }),
  ).rejects.toThrow('at once');
  await queue.idle();
});
