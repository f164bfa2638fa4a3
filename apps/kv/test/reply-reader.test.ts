import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { type Reply, ReplyReader } from '../src/client/reply-reader.js';

const REPLIES = '+OK\r\n$5\r\nhello\r\n*3\r\n:1\r\n$3\r\na\r\n\r\n$-1\r\n$0\r\n\r\n*-1\r\n:7\r\n';
const EXPECTED: Reply[] = ['OK', 'hello', [1, 'a\r\n', null], '', null, 7];

/** All whole replies, as they arrive. */
function readAll(chunks: readonly Buffer[]): Reply[] {
  const reader = new ReplyReader();
  const replies: Reply[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let reply = reader.next(); reply !== undefined; reply = reader.next()) replies.push(reply);
  }
  return replies;
}

it('replies are the same however they are cut', () => {
  const bytes = Buffer.from(REPLIES);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length)), (places) => {
      const cuts = [0, ...places.sort((a, b) => a - b), bytes.length];
      const chunks = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
      expect(readAll(chunks)).toEqual(EXPECTED);
    }),
  );
});

it('a long reply is joined once, not with each of its chunks', () => {
  const chunk = Buffer.alloc(1000, 'x');
  const chunks = [
    Buffer.from('$500000\r\n'),
    ...Array.from({ length: 500 }, () => chunk),
    Buffer.from('\r\n'),
  ];
  const concat = vi.spyOn(Buffer, 'concat');
  try {
    expect(readAll(chunks)).toEqual(['x'.repeat(500_000)]);
    expect(concat.mock.calls.length).toBeLessThan(4);
  } finally {
    concat.mockRestore();
  }
});
