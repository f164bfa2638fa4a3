import { describe, expect, it } from 'vitest';
import { MOST_PENDING_ARRIVALS, MOST_RECENT_SKEWS } from '../src/constants.js';
import { ArrivalTable } from '../src/skew/arrival-table.js';

const at = (now: number, sent = 1000) => ({ sent, now });

describe('the table of arrivals', () => {
  it('takes ages into account, so that a late report does not make its receiver late', () => {
    const table = new ArrivalTable([1, 2, 3]);
    table.report(1, [0], [0], at(10));
    table.report(2, [0], [4000], at(11));
    expect(table.skew).toBeUndefined();
    // Complete at 9 ms, although its report came last.
    table.report(3, [0], [9000], at(18));
    expect(table.skew).toEqual({
      messages: 1,
      recent: [{ message: 0, first: 2, last: 1, ms: 3 }],
      medianMs: 3,
      mostMs: 3,
      mostOftenLast: 1,
    });
  });

  it('has the median, the largest, and the receiver that is most often last', () => {
    const table = new ArrivalTable([4, 7]);
    table.report(4, [0, 1, 2], [3000, 2000, 1000], at(10));
    table.report(7, [0, 1, 2], [1000, 7000, 0], at(10));
    const { messages, recent, ...rest } = table.skew!;
    expect(messages).toBe(3);
    expect(recent.map(({ message, last, ms }) => [message, last, ms])).toEqual([
      [0, 7, 2],
      [1, 4, 5],
      [2, 7, 1],
    ]);
    expect(rest).toEqual({ medianMs: 2, mostMs: 5, mostOftenLast: 7 });
  });

  it('leaves out numbers that are not sent, come twice or go back, and reports of others', () => {
    const table = new ArrivalTable([1, 2]);
    table.report(1, [0, 0, 5], [0, 0, 0], at(1, 5));
    table.report(2, [0], [0, 0], at(1));
    table.report(3, [0], [0], at(1));
    expect(table.skew).toBeUndefined();
    table.report(2, [0], [0], at(1));
    expect(table.skew!.messages).toBe(1);
    // Message 5 was not taken: it may come now.
    table.report(1, [5], [0], at(2, 6));
    table.report(2, [5], [0], at(2, 6));
    expect(table.skew!.messages).toBe(2);
  });

  it('goes on where the numbers of the wire begin again', () => {
    const table = new ArrivalTable([1]);
    const numbers = [2 ** 30, 2 ** 31 + 5, 2 ** 32 - 2, 2 ** 32 - 1, 0];
    for (const message of numbers) {
      table.report(1, [message], [0], at(1, (message + 1) % 2 ** 32));
    }
    expect(table.skew!.recent.map(({ message }) => message)).toEqual(numbers);
  });

  it('keeps the latest messages, and does not wait for ever for a receiver that does not report', () => {
    const table = new ArrivalTable([1, 2]);
    const all = MOST_PENDING_ARRIVALS + 10;
    const numbers = Array.from({ length: all }, (_, number) => number);
    const ages = numbers.map(() => 0);
    table.report(1, numbers, ages, at(1, all));
    table.report(2, numbers, ages, at(1, all));
    const { messages, recent } = table.skew!;
    expect(messages).toBe(MOST_PENDING_ARRIVALS);
    expect(recent).toHaveLength(MOST_RECENT_SKEWS);
    expect(recent.at(-1)!.message).toBe(all - 1);
  });
});
