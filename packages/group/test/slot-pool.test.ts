import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotPool } from '../src/worker/slot-pool.js';

const SLOT_BYTES = 100;

function pooled(slots: number) {
  const placed: [message: number, slot: number][] = [];
  const asked: number[] = [];
  const port = {
    placeInSlot: (message: number, slot: number) => void placed.push([message, slot]),
    ask: (message: number) => void asked.push(message),
  };
  return { pool: new SlotPool(slots, SLOT_BYTES, port), placed, asked };
}

describe('SlotPool', () => {
  it('gives free slots at once, and the next released one to the message that waits longest', () => {
    const { pool, placed, asked } = pooled(2);
    for (const message of [0, 1, 2, 3]) pool.begin(message, SLOT_BYTES);
    expect(placed.map(([message]) => message)).toEqual([0, 1]);
    expect(pool.waiting).toBe(2);
    const { slot, byteLength } = pool.finish(0)!;
    expect(byteLength).toBe(SLOT_BYTES);
    expect(pool.finish(0)).toBeUndefined();
    pool.release(slot);
    expect(placed.at(-1)).toEqual([2, slot]);
    const other = pool.finish(1)!.slot;
    pool.release(other);
    expect(placed.slice(2)).toEqual([
      [2, slot],
      [3, other],
    ]);
    expect(pool.waiting).toBe(0);
    expect(asked).toEqual([]);
  });

  it('asks the application for a message that is longer than a slot, also while others wait', () => {
    const { pool, asked, placed } = pooled(1);
    pool.begin(0, 1);
    pool.begin(1, 1);
    pool.begin(2, SLOT_BYTES + 1);
    expect(asked).toEqual([2]);
    expect(placed.map(([message]) => message)).toEqual([0]);
    expect(pool.finish(2)).toBeUndefined();
  });

  it('asks for the messages that wait, and for later ones without a slot, once the group closes', () => {
    const { pool, asked, placed } = pooled(1);
    for (const message of [0, 1, 2]) pool.begin(message, 1);
    pool.lift();
    pool.begin(3, 1);
    expect(asked).toEqual([1, 2, 3]);
    pool.release(pool.finish(0)!.slot);
    pool.begin(4, 1);
    expect(placed.map(([message]) => message)).toEqual([0, 4]);
  });

  it('never has a slot in two messages, and loses none', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(3), { maxLength: 200 }), (slots, steps) => {
        const { pool, placed } = pooled(slots);
        const held: number[] = [];
        let begun = 0;
        let finished = 0;
        for (const step of steps) {
          if (step < 2) pool.begin(begun++, SLOT_BYTES);
          else if (step === 2 && finished < placed.length)
            held.push(pool.finish(placed[finished++]![0])!.slot);
          else if (held.length > 0) pool.release(held.shift()!);
          const inUse = [...held, ...placed.slice(finished).map(([, slot]) => slot)];
          expect(new Set(inUse).size).toBe(inUse.length);
          expect(pool.waiting === 0 || inUse.length === slots).toBe(true);
        }
        expect(placed.map(([message]) => message)).toEqual(placed.map((_, index) => index));
      }),
    );
  });
});
