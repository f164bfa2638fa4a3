import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SlotTable } from '../src/cluster/slot-table.js';
import { EpochWaiters } from '../src/node/epoch-waiters.js';

it('nothing is kept of a connection that has ended', async () => {
  const table = SlotTable.of(1);
  const waiters = new EpochWaiters(table);
  const [ended, open] = [{}, {}];
  const reached: string[] = [];
  void waiters.reached(2, ended)!.then(() => reached.push('ended'));
  void waiters.reached(2, open)!.then(() => reached.push('open'));
  waiters.forget(ended);
  table.update(2, []);
  await turn();
  expect(reached).toEqual(['open']);
  expect(waiters.reached(2, open)).toBeUndefined();
});
