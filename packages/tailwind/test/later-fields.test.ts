/** Messages of a later release may have further fields. */
import { readShape } from '@rdmc/common/shapes';
import { expect, it } from 'vitest';
import { coordinatorRequest } from '../src/coordinator/messages.js';
import { backupRequest } from '../src/rpc/messages.js';

it('fields of requests that are not known are left out, and requests that are not known are refused', () => {
  const free = { op: 'free', logId: '1', segmentId: '2', later: { any: true } };
  expect(readShape(backupRequest, free)).toEqual({ op: 'free', logId: 1n, segmentId: 2n });
  expect(readShape(coordinatorRequest, { op: 'logs', later: 1 })).toEqual({ op: 'logs' });
  expect(() => readShape(backupRequest, { op: 'later' })).toThrow(/op: needed/);
  expect(() => readShape(coordinatorRequest, { op: 'later' })).toThrow(/op: needed/);
});
