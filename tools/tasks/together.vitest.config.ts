// Several small suites in one process of the runner: RDMC_TEST_FOLDERS has their folders, separated by commas.
import { fileURLToPath } from 'node:url';
import { suite } from '../testing/config/suite.js';

const { test, ...rest } = suite();

export default {
  ...rest,
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    ...test,
    projects: process.env.RDMC_TEST_FOLDERS?.split(',') ?? [],
    // Of some packages, all tests are slow ones.
    passWithNoTests: process.env.RDMC_TEST_QUICK === '1',
  },
};
