import { suite } from '../testing/config/suite.js';

// One file at a time: each run of the harness is a cluster of processes.
export default suite({
  slow: ['test/chaos.test.ts', 'test/interrupt.test.ts'],
  fileParallelism: false,
  testTimeout: 600_000,
  hookTimeout: 240_000,
});
