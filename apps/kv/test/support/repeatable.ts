/**
 * Every test with random inputs draws them from one seed: RDMC_TEST_SEED, or one by chance. A failure prints the seed and
 * the command that repeats it.
 */
import fc from 'fast-check';
import { expect } from 'vitest';

const given = process.env.RDMC_TEST_SEED;

fc.configureGlobal({
  ...(given !== undefined && { seed: Number(given) }),
  reporter: (details) => {
    if (!details.failed) return;
    const { testPath = '', currentTestName = '' } = expect.getState();
    const file = testPath.slice(testPath.lastIndexOf('/test/') + 1);
    throw new Error(
      `${fc.defaultReportMessage(details)}\n\nRepeat it in apps/kv with\n` +
        `  RDMC_TEST_SEED=${details.seed} npx vitest run ${file} -t '${currentTestName.replaceAll("'", '.')}'`,
      { cause: details.errorInstance },
    );
  },
});
