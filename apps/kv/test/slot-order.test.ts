/** The order of commands of one slot while it goes from server to server. */
import { setImmediate as turn } from 'node:timers/promises';
import { rounds } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { MovingSlots } from './support/moving-slots.js';

const STEPS = 120;
/** More than what is under way needs. */
const LAST_STEPS = 5000;

it('each command is run once, and those of a slot in the order in which they came, whatever moves meanwhile', async () => {
  await rounds(60, async (random) => {
    const slots = new MovingSlots(random);
    for (let step = 0; step < STEPS; step += 1) {
      slots.step();
      if (random.below(2) === 0) await turn();
    }
    for (let left = LAST_STEPS; slots.answered < slots.sent; left -= 1) {
      if (left === 0) throw new Error(`${slots.sent - slots.answered} commands are never answered`);
      slots.finish();
      await turn();
    }
    for (const commands of slots.ran.values()) {
      expect(commands).toEqual([...new Set(commands)].sort((one, other) => one - other));
    }
    slots.close();
  });
});
