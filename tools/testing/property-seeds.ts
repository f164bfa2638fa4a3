/*
 * A setup file for vitest: a property that fails prints its seed, its path and the command that repeats it.
 *
 *   RDMC_TEST_SEED   seed of all properties that have none of their own
 *   RDMC_TEST_PATH   path to the counterexample, so that it is tried at once
 */
import { relative } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';

const { RDMC_TEST_SEED, RDMC_TEST_PATH } = process.env;

function commandFor(seed: number, path: string | null): string {
  const { testPath = '', currentTestName = '' } = expect.getState();
  const variables = [`RDMC_TEST_SEED=${seed}`, ...(path ? [`RDMC_TEST_PATH=${path}`] : [])].join(' ');
  const name = currentTestName.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const file = relative(process.cwd(), testPath);
  return `${variables} npx vitest run ${file} -t '^${name.replaceAll("'", "'\\''")}$'`;
}

fc.configureGlobal({
  ...(RDMC_TEST_SEED !== undefined && { seed: Number(RDMC_TEST_SEED) }),
  ...(RDMC_TEST_PATH !== undefined && { path: RDMC_TEST_PATH }),
  reporter: (details) => {
    if (!details.failed) return;
    const report = fc.defaultReportMessage(details) ?? 'the property failed';
    const command = commandFor(details.seed, details.counterexamplePath);
    const cause = details.errorInstance;
    throw new Error(`${report}\n\nTo repeat it, in ${process.cwd()}:\n  ${command}\n`, { cause });
  },
});
