import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { SeriesOrder } from '../src/series/series-order.js';
import { SeriesModel, type Setting } from './model/series-model.js';

describe('a series over groups that fail, in every interleaving', () => {
  it.each([
    ['a failure', { failures: 1 }],
    ['a failure, and a receiver that is wedged and trimmed', { failures: 1, wedges: 1, receivers: 1 }],
  ] satisfies [string, Setting][])('%s: no step is unsafe, and the end is reachable', (_name, setting) => {
    const { states, unsafe, stuck } = exploreObjects(new SeriesModel(setting));
    expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
    expect(stuck, stuck?.join(', ')).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });
});

/** What was delivered before is delivered again. */
class Repeats extends SeriesOrder {
  override take(): number | undefined {
    const number = this.at!;
    this.at = number + 1;
    this.expected = Math.max(this.expected!, number + 1);
    return number;
  }
}

/** A group that begins behind what this receiver has hides the numbers between. */
class HidesGaps extends SeriesOrder {
  override begin(first: number): undefined {
    super.begin(first);
  }
}

/** A newcomer is told that it lacks what was before its time. */
class BeginsAtZero extends SeriesOrder {
  protected override expected: number | undefined = 0;
}

/** Messages that were trimmed count as delivered. */
class TrimsSilently extends SeriesOrder {
  override take(): number | undefined {
    const number = super.take();
    if (number === undefined) this.expected = Math.max(this.expected!, this.at!);
    return number;
  }
}

/** The limit of a group that was trimmed stays. */
class TrimsForEver extends SeriesOrder {
  override finish(): void {
    this.at = undefined;
  }
}

describe('wrong variants are detected', () => {
  it.each([
    ['messages are delivered again', { failures: 1, order: Repeats }, /was delivered where/],
    ['a gap is not named', { failures: 1, order: HidesGaps }, /was delivered where/],
    ['a newcomer is told of a gap', { failures: 1, order: BeginsAtZero }, /gap 0-\d where/],
    [
      'trimmed messages are not named',
      { failures: 1, wedges: 1, receivers: 1, order: TrimsSilently },
      /is next/,
    ],
    [
      'a trim holds for the next group',
      { failures: 1, wedges: 1, receivers: 1, order: TrimsForEver },
      /not delivered|is next/,
    ],
    ['a group overtakes the one before it', { failures: 1, overtakes: true }, /has arrived|is next/],
    ['messages that are not settled are given up', { failures: 1, first: ({ sent }) => sent }, /not settled/],
  ] satisfies [string, Setting, RegExp][])('%s', (_name, setting, reason) => {
    const { unsafe, stuck } = exploreObjects(new SeriesModel(setting));
    expect(unsafe?.reason ?? stuck?.join(', ')).toMatch(reason);
  });
});
