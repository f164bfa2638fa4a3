import { describe, expect, it } from 'vitest';
import { wantsColour } from '../src/ui/palette.js';
import { textTable } from '../src/ui/text-table.js';
import {
  formatBytes,
  formatRate,
  formatSeconds,
  parseDuration,
  parseRate,
  parseSize,
  plural,
} from '../src/ui/units.js';
import { wrap } from '../src/ui/wrap.js';

describe('sizes', () => {
  it.each([
    ['17', 17],
    ['64KiB', 65_536],
    ['64k', 65_536],
    ['256MiB', 268_435_456],
    ['1.5GiB', 1_610_612_736],
    ['1kB', 1000],
    ['10MB', 10_000_000],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', 'x', '-1', '1.5', '1TB', '1 2', '1e9'])('%j is not a size', (text) => {
    expect(parseSize(text)).toBeUndefined();
  });

  it('are shown with the unit that fits', () => {
    expect([0, 1023, 1024, 1536, 2 ** 20, 98_932_688, 2 ** 31 - 1].map(formatBytes)).toEqual([
      '0 B',
      '1023 B',
      '1 KiB',
      '1.5 KiB',
      '1 MiB',
      '94.3 MiB',
      '2.0 GiB',
    ]);
  });
});

describe('other numbers', () => {
  it('durations, rates and counts', () => {
    expect([1.234, 0.0874, 3.2e-6].map(formatSeconds)).toEqual(['1.23 s', '87.4 ms', '3.2 µs']);
    expect([8_312e6, 50_000, 0.4].map(formatRate)).toEqual(['7.7 GiB/s', '48.8 KiB/s', '0 B/s']);
    expect([plural(1, 'block'), plural(1500, 'block')]).toEqual(['1 block', '1,500 blocks']);
  });
});

describe('durations', () => {
  it.each([
    ['30', 30_000],
    ['30s', 30_000],
    ['1.5 s', 1500],
    ['500ms', 500],
    ['2min', 120_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
  ])('%s is %d milliseconds', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', 's', '-1', '1d', '1 s s', 'none'])('%j is not a duration', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('rates', () => {
  it.each([
    ['40MB/s', 40e6],
    ['40MB', 40e6],
    ['1MiB/s', 1_048_576],
    ['400Mbit/s', 50e6],
    ['10Gbit/s', 1.25e9],
    ['1kbit', 125],
  ])('%s is %d bytes per second', (text, rate) => {
    expect(parseRate(text)).toBe(rate);
  });

  it.each(['', '/s', '40MB/h', '40Mbps', 'Mbit/s'])('%j is not a rate', (text) => {
    expect(parseRate(text)).toBeUndefined();
  });
});

describe('text', () => {
  it('tables align by what is visible', () => {
    const rows = [
      ['\u001b[31ma\u001b[39m', '1'],
      ['bbb', '22'],
    ];
    expect(textTable([{ title: 'x' }, { title: 'n', align: 'right' }], rows)).toEqual([
      'x     n',
      '\u001b[31ma\u001b[39m     1',
      'bbb  22',
    ]);
  });

  it('paragraphs break between words', () => {
    expect(wrap('aa bb cc', 5)).toEqual(['aa bb', 'cc']);
    expect(wrap('', 5)).toEqual([]);
  });

  it('colours only on a terminal without NO_COLOR', () => {
    expect(wantsColour({ isTTY: true }, {})).toBe(true);
    expect(wantsColour({ isTTY: false }, {})).toBe(false);
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColour({ isTTY: true }, { TERM: 'dumb' })).toBe(false);
  });
});
