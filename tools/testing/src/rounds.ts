import { randomInt } from 'node:crypto';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { repeatCommand } from '../config/repeat-command.js';
import { Random } from './random.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const { RDMC_TEST_SEED, RDMC_TEST_FUZZ_SECONDS } = process.env;

/** The first seed of a random test: RDMC_TEST_SEED, or a different one each time. */
export const SEED = Number(RDMC_TEST_SEED ?? randomInt(2 ** 31 - 1));

/** Duration of a random test in seconds; 0 for its usual number of rounds. */
export const FUZZ_SECONDS = Number(RDMC_TEST_FUZZ_SECONDS ?? 0);

/**
 * Runs an action in rounds, each with its own seed: `count` times, and for RDMC_TEST_FUZZ_SECONDS.
 * RDMC_TEST_SEED is the seed of the first round. A failure has its seed and the command that repeats it.
 */
export async function rounds(
  count: number,
  action: (random: Random, seed: number) => void | Promise<void>,
): Promise<void> {
  const end = performance.now() + FUZZ_SECONDS * 1000;
  for (let round = 0; round < count || performance.now() < end; round += 1) {
    const seed = (SEED + round) >>> 0;
    try {
      await action(new Random(seed), seed);
    } catch (cause) {
      throw new Error(`seed ${seed}; to repeat it:\n  ${commandOf(seed)}\n${String(cause)}`, { cause });
    }
  }
}

/** What repeats the test that runs now with this seed, in the root of the repository. */
function commandOf(seed: number): string {
  const { currentTestName = '', testPath = '' } = expect.getState();
  const folder = process.cwd();
  const names = currentTestName.split(' > ');
  const command = { folder: relative(ROOT, folder), file: relative(folder, testPath), names, text: '' };
  return repeatCommand(command).replace('npx', `RDMC_TEST_SEED=${seed} npx`);
}
