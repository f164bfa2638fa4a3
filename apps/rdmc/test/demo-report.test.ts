import { describe, expect, it } from 'vitest';
import { describeBeginning, describeComparison, describeJoin } from '../src/demo/report.js';
import { createPalette, visibleWidth } from '../src/ui/palette.js';

const palette = createPalette(true);

const measured = (['sequential', 'chain', 'binomial-tree', 'binomial-pipeline'] as const).map(
  (algorithm, i) => ({
    algorithm,
    blocks: 256,
    steps: 1792 - i,
    rounds: 1,
    seconds: 4.91 / (i + 1),
    fastestSeconds: 4.9 / (i + 1),
    slowestSeconds: 4.92 / (i + 1),
    deliveredBytesPerSecond: 48e6 * (i + 1),
    timesOneCopy: 7.03 / (i + 1),
  }),
);
const result = { oneCopySeconds: 0.6989, oneCopySteps: 256, measured };

function comparison(columns: number): string[] {
  return describeComparison(result, 32 << 20, true, { columns, palette });
}

describe('the report of a demonstration', () => {
  it.each([50, 60, 80, 100, 200])('fits at %d columns', (columns) => {
    const page = { columns, palette };
    const begun = {
      event: 'begun',
      file: '/usr/bin/node',
      byteLength: 32 << 20,
      members: 8,
      folder: '/tmp/x',
    } as const;
    const joined = {
      event: 'joined',
      device: 'soft',
      deviceReason: "transport tcp is the soft device's",
      transport: 'tcp',
      transportReason: 'each member has a link of its own, 400 Mbit/s in each direction',
      linkBitsPerSecond: 400e6,
      algorithm: 'binomial-pipeline',
      blockBytes: 131_072,
      blocks: 256,
      steps: 258,
    } as const;
    const original = { path: '/usr/bin/node', byteLength: 94 << 20, changedAt: 0n };
    const lines = [
      ...describeBeginning(begun, original, page),
      ...describeJoin(joined, page),
      ...comparison(columns),
    ];
    for (const line of lines) expect(visibleWidth(line), line).toBeLessThanOrEqual(columns);
    const table = lines.slice(-6);
    expect(table[0]).toContain('× one copy');
    expect(table[0]!.includes('delivered')).toBe(columns > 63);
    expect(table[1]).toContain('698.9 ms');
    expect(table[5]).toContain('binomial-pipeline');
    expect(table[2]).toContain('█');
  });

  it('has the whole table at 100 columns', () => {
    const plain = describeComparison(result, 32 << 20, true, { columns: 100, palette: createPalette(false) });
    expect(plain.slice(2)).toEqual([
      '  algorithm          steps      time    delivered  × one copy',
      `  one copy             256  698.9 ms   45.8 MiB/s        1.00  ${'█'.repeat(3)}`,
      `  sequential         1,792    4.91 s   45.8 MiB/s        7.03  ${'█'.repeat(24)}`,
      `  chain              1,791    2.46 s   91.6 MiB/s        3.52  ${'█'.repeat(12)}`,
      `  binomial-tree      1,790    1.64 s  137.3 MiB/s        2.34  ${'█'.repeat(8)}`,
      `  binomial-pipeline  1,789    1.23 s  183.1 MiB/s        1.76  ${'█'.repeat(6)}`,
    ]);
  });
});
