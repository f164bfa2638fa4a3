import { execFile, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { blocksOf, resnet152 } from '../src/index.js';

/** Tensors: with RDMC_TEST_LONG=1 those of the whole network, 60 million values. */
const TENSORS = process.env.RDMC_TEST_LONG === '1' ? 467 : 40;
/** The default of the command. */
const BLOCK_BYTES = 65_536;
const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const DEVICE = process.env.RDMC_TEST_DEVICE ?? 'soft';

describe('rdmc-paramserver, built', () => {
  it('ends with 1, and names the cause, where the disk of standard output is full', () => {
    const args = ['--iterations', '1', '--workers', '1', '--tensors', '10', '--device', DEVICE, '--json'];
    const full = openSync('/dev/full', 'w');
    const { stderr, status } = spawnSync('node', [MAIN, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    expect(stderr).toBe('error ENOSPC: cannot write standard output: no space left on device\n');
    expect(status).toBe(1);
  });

  // The differences of the protocols do not depend on the size.
  it.each([
    ['push', TENSORS],
    ['pull', 40],
    ['baseline', 40],
  ] as const)(
    '%s, %i tensors: server and workers agree with one process, bit for bit',
    { timeout: 240_000 },
    async (protocol, tensors) => {
      const args = [
        '--protocol',
        protocol,
        '--iterations',
        '2',
        '--workers',
        '2',
        '--tensors',
        String(tensors),
        '--device',
        DEVICE,
        '--json',
      ];
      const { stdout } = await run('node', [MAIN, ...args]);
      const { blocks, devices, iterations } = JSON.parse(stdout);
      const why = { device: expect.any(String), reason: expect.stringMatching(/./) };
      expect(devices).toEqual([why, why, why]);
      expect(blocks).toBe(blocksOf(resnet152().slice(0, tensors), BLOCK_BYTES).length);
      expect(iterations.length).toBe(2);
      for (const result of iterations) {
        expect(result.messages).toBe(4 * blocks);
        expect(result.completionMs).toBeGreaterThan(0);
        expect(result.readsPerMessage > 0).toBe(protocol !== 'baseline');
      }
    },
  );

  it.each([
    [0, '--help', ''],
    [2, '--workers 0', 'whole number from 1 to 64'],
    [2, '--worker 1', "unknown option '--worker'"],
    [2, '--device none --workers 1', 'ERR_RDMC_UNKNOWN_DEVICE'],
  ])('ends with %i: %s', { timeout: 240_000 }, async (exitCode, options, message) => {
    const { code, stderr } = await run('node', [MAIN, ...options.split(' ')]).then(
      (output) => ({ ...output, code: 0 }),
      (error) => error,
    );
    expect(stderr).toContain(message);
    expect(code).toBe(exitCode);
  });
});
