import { expect, it } from 'vitest';
import { explore } from '../src/explore.js';
import { exploreObjects } from '../src/explore-objects.js';
import { ModelMemory } from '../src/model-memory.js';

const SIZE = 100;

/** Two counters up to SIZE - 1; `steps` may allow and do something else in one state. */
class Counters {
  readonly #memory = new ModelMemory();
  readonly counts = this.#memory.take(2);

  constructor(private readonly extra: (x: number, y: number) => string | undefined = () => undefined) {}

  current(): Int32Array {
    return this.#memory.current;
  }

  restore(state: Int32Array): void {
    this.#memory.restore(state);
  }

  steps(): string[] {
    const [x, y] = this.counts as unknown as [number, number];
    if (x < 0) return [];
    const extra = this.extra(x, y);
    return [...(x < SIZE - 1 ? ['x'] : []), ...(y < SIZE - 1 ? ['y'] : []), ...(extra ? [extra] : [])];
  }

  take(step: string): void {
    if (step === 'fail') throw new Error('unsafe');
    if (step === 'trap') this.counts.fill(-1);
    else this.counts[step === 'x' ? 0 : 1]! += 1;
  }

  done(): boolean {
    return this.counts.every((count) => count === SIZE - 1);
  }
}

it('visits every state once, and takes every step of it', () => {
  expect(explore(new Counters())).toEqual({
    states: SIZE * SIZE,
    transitions: 2 * SIZE * (SIZE - 1),
    unsafe: undefined,
    stuck: undefined,
  });
});

it('ends at an unsafe step, with the shortest way to it', () => {
  const { unsafe } = explore(new Counters((x, y) => (x === 1 && y === 2 ? 'fail' : undefined)));
  expect(unsafe!.reason).toBe('Error: unsafe');
  expect(unsafe!.trace.at(-1)).toBe('fail');
  expect([...unsafe!.trace].sort()).toEqual(['fail', 'x', 'y', 'y']);
});

it('finds a state from which there is no way to the end', () => {
  const { stuck, unsafe } = explore(new Counters((x, y) => (x === 2 && y === 0 ? 'trap' : undefined)));
  expect(unsafe).toBeUndefined();
  expect(stuck).toEqual(['x', 'x', 'trap']);
});

it('does not visit more states than its limit', () => {
  expect(() => explore(new Counters(), 50)).toThrow('more than 50 states');
});

/** The same counters as an object; the last state has an unsafe step, or none. */
class CountersObject {
  readonly counts = [0, 0];

  constructor(private readonly hasUnsafe: boolean) {}

  steps(): string[] {
    const steps = ['x', 'y'].filter((_, index) => this.counts[index]! < SIZE - 1);
    return this.hasUnsafe && steps.length === 0 ? ['fail'] : steps;
  }

  take(step: string): void {
    if (step === 'fail') throw new Error('unsafe');
    this.counts[step === 'x' ? 0 : 1]! += 1;
  }

  key(): string {
    return this.counts.join();
  }

  done(): boolean {
    return this.counts.every((count) => count === SIZE - 1);
  }
}

it('visits every state of an object, deep first as well, which finds an unsafe last step after few states', () => {
  const all = { states: SIZE * SIZE, unsafe: undefined, stuck: undefined };
  expect(exploreObjects(new CountersObject(false))).toEqual(all);
  expect(exploreObjects(new CountersObject(false), { deep: true })).toEqual(all);
  expect(exploreObjects(new CountersObject(true)).states).toBe(SIZE * SIZE);
  const { states, unsafe } = exploreObjects(new CountersObject(true), { deep: true });
  expect(unsafe!.trace).toHaveLength(2 * (SIZE - 1) + 1);
  expect(states).toBeLessThan((SIZE * SIZE) / 10);
});

it('a queue in a state gives its numbers in order, and is equal to one that never held them', () => {
  const memory = new ModelMemory();
  const queue = memory.takeQueue(3);
  const empty = memory.current.slice();
  queue.push(7, 8, 9);
  expect(() => queue.push(1)).toThrow('a longer queue');
  expect([...queue]).toEqual([7, 8, 9]);
  expect([queue.includes(9), queue.includes(0)]).toEqual([true, false]);
  expect([queue.shift(), queue.shift(), queue.length]).toEqual([7, 8, 1]);
  expect([...queue]).toEqual([9]);
  queue.shift();
  expect(memory.current).toEqual(empty);
  queue.push(5);
  queue.clear();
  expect(memory.current).toEqual(empty);
});
