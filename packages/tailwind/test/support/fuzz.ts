import { Random } from './random.js';

/** Rounds without RDMC_TEST_FUZZ_SECONDS: some hundred milliseconds. */
const ROUNDS = 300;

/**
 * Runs an action again and again, each round with its own seed: a few hundred times, or for RDMC_TEST_FUZZ_SECONDS.
 * RDMC_TEST_SEED is the seed of the first round. What fails names the seed and the command that repeats it.
 */
export async function fuzz(
  name: string,
  action: (random: Random) => void | Promise<void>,
  rounds = ROUNDS,
): Promise<void> {
  const first = Number(process.env.RDMC_TEST_SEED ?? Date.now() % 1_000_000_000);
  const deadline = performance.now() + Number(process.env.RDMC_TEST_FUZZ_SECONDS ?? 0) * 1000;
  for (let round = 0; round < rounds || performance.now() < deadline; round += 1) {
    const seed = first + round;
    try {
      await action(new Random(seed));
    } catch (error) {
      const command = `RDMC_TEST_SEED=${seed} npx vitest run test/fuzz.test.ts -t '${name}'`;
      throw new Error(`seed ${seed}; repeat it in packages/tailwind with\n  ${command}\n${String(error)}`, {
        cause: error,
      });
    }
  }
}
