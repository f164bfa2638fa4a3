import { suite } from '../testing/config/suite.js';

// Tests of the built site in a browser: `npm run test:browser`.
const BROWSER = ['test/browser/**'];

export default suite(
  process.env.RDMC_TEST_BROWSER === '1'
    ? { include: BROWSER.map((path) => `${path}/*.test.ts`) }
    : // slow: programs of the guides, and all types of all packages.
      { exclude: BROWSER, slow: ['test/guides.test.ts', 'test/documented.test.ts'] },
);
