import { expect, it } from 'vitest';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';

class Holder {
  gone = false;
  destroy(): void {
    this.gone = true;
  }
}

it('where unfinished commands are too much, the oldest go, not whoever sends now', () => {
  const unfinished = new UnfinishedCommands(100);
  const [old, busy, fresh] = [new Holder(), new Holder(), new Holder()];
  unfinished.set(busy, 30);
  unfinished.set(old, 40);
  // Its command came to an end, and the next one has begun.
  unfinished.set(busy, 0);
  unfinished.set(busy, 30);
  unfinished.set(old, 45);
  unfinished.set(fresh, 40);
  expect([old.gone, busy.gone, fresh.gone]).toEqual([true, false, false]);
  expect(unfinished.totalBytes).toBe(70);
  unfinished.set(old, 0);
  expect(unfinished.totalBytes).toBe(70);
});

it('one that is too much alone goes', () => {
  const unfinished = new UnfinishedCommands(100);
  const holder = new Holder();
  unfinished.set(holder, 101);
  expect([holder.gone, unfinished.totalBytes]).toEqual([true, 0]);
});
