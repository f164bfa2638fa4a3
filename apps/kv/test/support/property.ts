import { randomInt } from 'node:crypto';

/** The first seed of a property test; fast-check prints the one that failed, and RDMC_TEST_SEED repeats it. */
export const SEED = Number(process.env.RDMC_TEST_SEED ?? randomInt(2 ** 31 - 1));

/** How long fuzz tests run at least, in seconds (default 0: their number of runs); RDMC_TEST_FUZZ_SECONDS sets it. */
export const FUZZ_SECONDS = Number(process.env.RDMC_TEST_FUZZ_SECONDS ?? 0);
