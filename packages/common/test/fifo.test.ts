import { expect, it } from 'vitest';
import { Fifo } from '../src/index.js';

it('gives back in order what was put in, whatever was taken out between', () => {
  const fifo = new Fifo<number>();
  const model: number[] = [];
  let next = 0;
  // Grows and shrinks again and again, so that what was taken out is removed at many places.
  for (let step = 0; step < 5_000; step += 1) {
    if (step % 700 < 500 && step % 3 < 2) {
      fifo.push(next);
      model.push(next);
      next += 1;
    } else expect(fifo.shift()).toBe(model.shift());
    expect(fifo.length).toBe(model.length);
    expect(fifo.peek()).toBe(model[0]);
  }
  expect([...fifo]).toEqual(model);
  expect(fifo.drain()).toEqual(model);
  expect(fifo.length).toBe(0);
  expect(fifo.shift()).toBeUndefined();
});

it('removes the oldest item that fits', () => {
  const fifo = new Fifo<number>();
  for (const item of [1, 2, 3, 4]) fifo.push(item);
  fifo.shift();
  expect(fifo.remove((item) => item % 2 === 1)).toBe(3);
  expect(fifo.remove((item) => item === 1)).toBeUndefined();
  expect([...fifo]).toEqual([2, 4]);
  fifo.clear();
  expect([...fifo]).toEqual([]);
});
