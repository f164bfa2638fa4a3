import { suite } from '../testing/config/suite.js';

// One machine at a time: an emulated processor takes all of two cores.
export default suite({
  slow: ['test/machine.test.ts'],
  network: true,
  fileParallelism: false,
  testTimeout: 600_000,
  hookTimeout: 240_000,
});
