import { expect, it } from 'vitest';
import { recordHeader, recordsIn } from '../src/cluster/peer-frames.js';

const records = [
  { type: 2, payload: Buffer.from('one') },
  { type: 3, payload: Buffer.alloc(0) },
  { type: 2, payload: Buffer.from('three') },
];
const frame = Buffer.concat([
  Buffer.alloc(4),
  ...records.flatMap(({ type, payload }) => [recordHeader(type, payload.length), payload]),
]);

it('records of a frame are read as they were written', () => {
  expect([...recordsIn(frame)]).toEqual(records);
});

it('a frame that ends in a record, at any byte, is refused', () => {
  const ends = [4, 4 + 8, 4 + 8 + 5];
  for (let length = 5; length < frame.length; length += 1) {
    if (ends.includes(length)) continue;
    expect(() => [...recordsIn(frame.subarray(0, length))]).toThrow('malformed');
  }
});
