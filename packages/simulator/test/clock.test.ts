import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Clock, Timer } from '../src/clock.js';

class Recorded extends Timer {
  constructor(
    readonly name: number,
    private readonly fired: (timer: Recorded) => void,
  ) {
    super();
  }
  fire(): void {
    this.fired(this);
  }
}

/** Schedule, move or cancel one of ten timers. */
const operations = fc.array(fc.record({ timer: fc.nat(9), at: fc.nat(6), cancels: fc.boolean() }), {
  maxLength: 60,
});

describe('Clock', () => {
  it('fires timers by time, and those of one time in the order of scheduling', () => {
    fc.assert(
      fc.property(operations, (list) => {
        const clock = new Clock();
        const fired: [number, number][] = [];
        const timers = Array.from({ length: 10 }, (_, name) => {
          return new Recorded(name, () => fired.push([clock.now, name]));
        });
        const model = new Map<number, [at: number, order: number]>();
        list.forEach(({ timer, at, cancels }, order) => {
          if (cancels) clock.cancel(timers[timer]!);
          else clock.schedule(timers[timer]!, at);
          if (cancels) model.delete(timer);
          else model.set(timer, [at, order]);
        });
        expect(clock.pending).toBe(model.size);
        clock.run(() => {});
        const expected = [...model].sort(([, a], [, b]) => a[0] - b[0] || a[1] - b[1]);
        expect(fired).toEqual(expected.map(([name, [at]]) => [at, name]));
        expect(clock.pending).toBe(0);
      }),
    );
  });

  it('holds any number of timers', () => {
    const clock = new Clock();
    const fired: number[] = [];
    // 7919 is prime, so these are 5000 different times in no order.
    const times = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 5000);
    for (const at of times) clock.schedule(new Recorded(at, () => fired.push(clock.now)), at);
    clock.run(() => {});
    expect(fired).toEqual([...times].sort((a, b) => a - b));
  });

  it('settles once after all timers of an instant, and goes on with what that scheduled', () => {
    const clock = new Clock();
    const log: string[] = [];
    const late = new Recorded(9, () => log.push(`late at ${clock.now}`));
    for (const name of [0, 1]) clock.schedule(new Recorded(name, () => log.push(`timer ${name}`)), 5);
    clock.run(() => {
      log.push(`settled at ${clock.now}`);
      if (clock.now === 5 && !log.includes('late at 5')) clock.schedule(late, 5);
    });
    expect(log).toEqual(['settled at 0', 'timer 0', 'timer 1', 'settled at 5', 'late at 5', 'settled at 5']);
  });
});
