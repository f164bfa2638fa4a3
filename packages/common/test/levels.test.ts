import { describe, expect, it } from 'vitest';
import { commonLevel, LEVELS, levelsText, ownLevels, speaks } from '../src/index.js';

const range = (least: number, most: number) => ({ least, most });

describe('the levels of a process', () => {
  it('end with the last of the table', () => {
    expect(ownLevels({})).toEqual(range(1, LEVELS.length));
  });

  it('are others where a test says so, and nothing else than a range is accepted', () => {
    expect(ownLevels({ RDMC_TEST_LEVELS: '1-2' })).toEqual(range(1, 2));
    expect(ownLevels({ RDMC_TEST_LEVELS: '7-7' })).toEqual(range(7, 7));
    for (const text of ['', '1', '2-1', '0-1', '1-65536', '1-2-3', 'a-b', '1-', '-1'])
      expect(() => ownLevels({ RDMC_TEST_LEVELS: text })).toThrow(/RDMC_TEST_LEVELS/);
  });
});

describe('two processes', () => {
  it.each([
    [range(1, 1), range(1, 1), 1],
    [range(1, 2), range(1, 1), 1],
    [range(1, 2), range(2, 3), 2],
    [range(1, 3), range(2, 4), 3],
    [range(1, 1), range(2, 3), undefined],
  ])('with levels %j and %j have level %s', (one, other, level) => {
    expect(commonLevel(one, other)).toBe(level);
    expect(commonLevel(other, one)).toBe(level);
  });
});

it('a range speaks its ends and what is between, and is shown so', () => {
  expect([1, 2, 3, 4, 5].map((level) => speaks(range(2, 4), level))).toEqual([
    false,
    true,
    true,
    true,
    false,
  ]);
  expect([levelsText(range(2, 4)), levelsText(range(3, 3))]).toEqual(['levels 2 to 4', 'level 3']);
});
