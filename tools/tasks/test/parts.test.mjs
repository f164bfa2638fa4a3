import { afterEach, expect, it, vi } from 'vitest';
import { runParts, timesOf } from '../parts.mjs';

afterEach(() => vi.restoreAllMocks());

/** Runs the parts, and returns the failed ones and the lines that were printed, without times. */
async function printed(parts, limit) {
  const lines = [];
  vi.spyOn(console, 'log').mockImplementation((line) => lines.push(line.replace(/[\d.]+ s\b/g, 'T')));
  const failed = await runParts(parts, limit);
  return { failed, lines };
}

const shell = (label, script, seconds) => ({ label, command: 'sh', args: ['-c', script], seconds });

it('the longest parts begin first, and a failed one shows its output', async () => {
  const parts = [
    shell('short', 'echo hidden', 1),
    shell('long', 'echo shown; exit 3', 9),
    shell('middle', "echo 'left out: a test'", 5),
  ];
  expect(await printed(parts, 1)).toEqual({
    failed: [{ label: 'long', output: 'shown\nsh -c echo shown; exit 3 (in .) ended with 3' }],
    lines: [
      '── long: FAILED (T, T of a processor)',
      'shown\nsh -c echo shown; exit 3 (in .) ended with 3',
      '── middle: ok (T, T of a processor)',
      '   left out: a test',
      '── short: ok (T, T of a processor)',
      '   3 parts, 1 at once: T, T of processor time',
    ],
  });
});

it('a part with more time than its limit is ended with all its processes', async () => {
  const { failed, lines } = await printed(
    [{ ...shell('endless', 'sleep 1000 & wait'), limitSeconds: 0.2 }],
    1,
  );
  expect(failed).toMatchObject([{ label: 'endless' }]);
  expect(lines.join('\n')).toContain('ended after its limit');
});

it('reads the processor time of a command from what the shell prints', () => {
  expect(timesOf('0m0.00s 0m0.00s\n1m2.30s 0m4.50s\n')).toBeCloseTo(66.8);
  expect(timesOf('0m0.000000s 0m0.000000s\n0m0.250000s 0m0.050000s\n')).toBeCloseTo(0.3);
  expect(timesOf('')).toBeUndefined();
});
