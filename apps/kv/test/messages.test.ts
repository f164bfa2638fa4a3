import { readShape, tryShape } from '@rdmc/common/shapes';
import { expect, it } from 'vitest';
import { tableMessage, takeoverMessage } from '../src/cluster/messages.js';
import { NOBODY } from '../src/cluster/slot-table.js';

it('a table may have slots that no server serves, and no other number below 0', () => {
  const table = (server: number) => ({ epoch: 1, ranges: [[0, 5, server] as const, [6, 7, 2] as const] });
  expect(readShape(tableMessage, table(NOBODY))).toEqual({ ...table(NOBODY), drained: [] });
  expect(tryShape(tableMessage, table(NOBODY - 1))).toBeUndefined();
});

it('a part of a dead server goes to a server', () => {
  const order = (member: number) => ({
    takeover: 1,
    logId: '1',
    shares: [{ member, logId: '2', ranges: [[0, 5]] }],
    floors: [],
  });
  expect(tryShape(takeoverMessage, order(2))).toBeDefined();
  expect(tryShape(takeoverMessage, order(NOBODY))).toBeUndefined();
});
