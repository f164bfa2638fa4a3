import { describe, expect, it } from 'vitest';
import { DEFAULTS, racksOf, readSettings, settled, writeSettings } from '../src/explorer/settings.js';

describe('the address', () => {
  it('is empty for the defaults', () => {
    expect(writeSettings(DEFAULTS, 0)).toBe('');
    expect(readSettings('')).toEqual({ settings: DEFAULTS, time: 0 });
  });

  it('keeps everything', () => {
    const settings = settled({
      algorithm: 'hybrid',
      beside: 'none',
      nodes: 16,
      blocks: 9,
      racks: 4,
      slow: { a: 3, b: 12, ratio: 0.25 },
      rate: 7,
    });
    expect(readSettings(writeSettings(settings, 5.5))).toEqual({ settings, time: 5.5 });
  });

  it.each([
    ['#nodes=1000&blocks=0&rate=x&racks=99', { nodes: 64, blocks: 1, rate: 2, racks: 8 }],
    ['#algorithm=magic&beside=toString', { algorithm: 'binomial-pipeline', beside: 'sequential' }],
    ['#nodes=3&racks=8', { racks: 3 }],
    ['#slow=0-9x0.5', { slow: undefined }],
    ['#slow=1-1x0.5', { slow: undefined }],
    ['#slow=0-1x2', { slow: undefined }],
    ['#slow=0-1x0.0', { slow: undefined }],
    ['#time=-4', {}],
  ])('corrects %s', (hash, wanted) => {
    const { settings, time } = readSettings(hash);
    expect(settings).toMatchObject(wanted);
    expect(time).toBe(0);
  });
});

describe('racks', () => {
  it('have consecutive ranks and about equal sizes', () => {
    expect(racksOf({ nodes: 8, racks: 3 })).toEqual([0, 0, 0, 1, 1, 1, 2, 2]);
    expect(racksOf({ nodes: 2, racks: 1 })).toEqual([0, 0]);
  });
});
