import { afterEach, expect, it, vi } from 'vitest';
import { SLAB_BYTES } from '../src/limits.js';
import { ReplyWriter } from '../src/resp/writer.js';

afterEach(() => vi.restoreAllMocks());

it('a number that is not an integer is refused, and nothing of it is written', () => {
  const writer = new ReplyWriter();
  writer.begin();
  for (const value of [Number.NaN, 0.5, 12.25, Number.POSITIVE_INFINITY]) {
    expect(() => writer.integer(value)).toThrow(`ERR a reply has ${value} in place of an integer`);
  }
  for (const value of [0, -1, 99_999_999, Number.MAX_SAFE_INTEGER]) writer.integer(value);
  expect(writer.end().toString()).toBe(':0\r\n:-1\r\n:99999999\r\n:9007199254740991\r\n');
});

it('short runs share memory, and do not keep that of a long one', () => {
  const writer = new ReplyWriter();
  const run = (bytes: number): Buffer => {
    writer.begin();
    writer.raw(Buffer.alloc(bytes, 'x'));
    return writer.end();
  };
  const before = run(10);
  const long = run(SLAB_BYTES + 1);
  const after = run(10);
  expect(long.toString() === 'x'.repeat(SLAB_BYTES + 1)).toBe(true);
  expect(after.buffer === before.buffer).toBe(true);
  expect(after.byteOffset).toBe(before.byteOffset + 10);
  expect(after.buffer.byteLength).toBe(SLAB_BYTES);
});

it('a long run that is broken off leaves the memory of the short ones as it was', () => {
  const writer = new ReplyWriter();
  writer.begin();
  writer.ok();
  const first = writer.end();
  writer.begin();
  writer.ok();
  writer.raw(Buffer.alloc(SLAB_BYTES));
  writer.begin();
  writer.integer(1);
  expect([first, writer.end()].join('')).toBe('+OK\r\n:1\r\n');
});

it('a reply for which there is no memory is an error, and the run goes on', () => {
  const writer = new ReplyWriter();
  writer.begin();
  writer.ok();
  vi.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation(() => {
    throw new RangeError('Array buffer allocation failed');
  });
  expect(() => writer.raw(Buffer.alloc(SLAB_BYTES))).toThrow(/^ERR the server does not have the memory for /);
  writer.integer(1);
  expect(writer.end().toString()).toBe('+OK\r\n:1\r\n');
});

it.each([10, 3 * SLAB_BYTES])(
  'what is left of a run, %d bytes, does not keep the memory of what was removed',
  (left) => {
    const writer = new ReplyWriter();
    writer.begin();
    writer.ok();
    const first = writer.end();
    writer.raw(Buffer.alloc(left, 'x'));
    writer.raw(Buffer.alloc(100 * SLAB_BYTES));
    writer.truncate(left);
    writer.ok();
    const run = writer.end();
    expect(run.buffer.byteLength).toBeLessThanOrEqual(3 * left + 2 * SLAB_BYTES);
    writer.begin();
    writer.integer(1);
    const all = [first, run, writer.end()].map((bytes) => bytes.toString());
    expect(all).toEqual(['+OK\r\n', `${'x'.repeat(left)}+OK\r\n`, ':1\r\n']);
  },
);

it('short replies that are removed behind a long one do not move it each time', () => {
  const writer = new ReplyWriter();
  writer.begin();
  writer.raw(Buffer.alloc(10 * SLAB_BYTES));
  const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow');
  for (let i = 0; i < 1000; i += 1) {
    const { length } = writer;
    writer.bulk('x'.repeat(1000));
    writer.truncate(length);
    writer.ok();
  }
  expect(allocate.mock.calls.length).toBeLessThan(3);
});
