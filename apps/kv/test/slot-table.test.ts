import { expect, it } from 'vitest';
import { NOBODY, SlotTable } from '../src/cluster/slot-table.js';

const halves = [
  { from: 0, to: 8191, member: 1 },
  { from: 8192, to: 16_383, member: 2 },
];

it('slots of a lost member have no server until it is back, also by a table that came meanwhile', () => {
  const table = new SlotTable();
  table.update(1, halves);
  table.drop(2);
  expect([table.owner(0), table.owner(9000), table.isComplete]).toEqual([1, NOBODY, false]);
  table.update(2, [{ from: 0, to: 16_383, member: 2 }]);
  expect([table.owner(0), table.owner(9000)]).toEqual([NOBODY, NOBODY]);
  let updates = 0;
  table.onUpdate(() => {
    updates += 1;
  });
  table.restore(2);
  expect([table.owner(0), table.epoch, table.isComplete, updates]).toEqual([2, 2, true, 1]);
  table.restore(2);
  expect(updates).toBe(1);
});
