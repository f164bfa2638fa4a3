import { describe, expect, it } from 'vitest';
import { StreamOrder } from '../src/writer/stream-order.js';

const END = {
  type: 'streamEnd',
  files: 1,
  directories: 0,
  symbolicLinks: 0,
  hardLinks: 0,
  bytes: 0,
} as const;

/** A stream of one message with one file, without its end. */
function begun(): StreamOrder {
  const order = new StreamOrder();
  order.enter(0);
  order.entry(3, 'files', undefined);
  return order;
}

describe('the order of streams', () => {
  it('may have several streams, each with its own entries', () => {
    const order = begun();
    order.end(END, undefined);
    order.enter(0);
    order.entry(1, 'files', undefined);
    order.end(END, undefined);
    order.finish(2, false);
  });

  it.each<[string, (order: StreamOrder) => void, string]>([
    ['a message is missing', (order) => order.enter(2), 'received message 2 instead of 1'],
    ['a stream begins too early', (order) => order.enter(0), 'before the previous one had ended'],
    ['an index does not grow', (order) => order.entry(3, 'files', undefined), 'indices must grow'],
    ['a file is open', (order) => order.entry(4, 'files', 3), 'entry 4 begins before entry 3 has ended'],
    ['the stream ends in a file', (order) => order.end(END, 3), 'the stream ends before entry 3 has ended'],
    ['its end is missing', (order) => order.finish(1, true), 'the stream is incomplete'],
    ['nothing came', () => new StreamOrder().finish(0, false), 'the stream is incomplete'],
    [
      'it goes on after its end',
      (order) => {
        order.end(END, undefined);
        order.record();
      },
      'records after its end',
    ],
    [
      'its totals differ',
      (order) => {
        order.end({ ...END, files: 2 }, undefined);
        order.finish(1, false);
      },
      'totals other than announced',
    ],
    [
      'messages are missing',
      (order) => {
        order.end(END, undefined);
        order.finish(2, false);
      },
      '1 of 2 messages',
    ],
  ])('is violated where %s', (_, violate, message) => {
    expect(() => violate(begun())).toThrow(message);
  });

  it('may be empty where nothing was lacking', () => {
    expect(() => new StreamOrder().finish(0, true)).not.toThrow();
  });
});
