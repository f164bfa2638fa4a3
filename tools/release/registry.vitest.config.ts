import { suite } from '../testing/config/suite.js';

// `npm run test:release`: one registry, and installations one after the other.
const isSmoke = process.env.RDMC_TEST_RELEASE === 'smoke';

export default suite({
  include: [isSmoke ? 'test-registry/install.test.mjs' : 'test-registry/**/*.test.mjs'],
  network: true,
  fileParallelism: false,
  testTimeout: 600_000,
  hookTimeout: 600_000,
});
