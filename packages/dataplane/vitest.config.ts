import { suite } from '../../tools/testing/config/suite.js';

// slow: processes, and two threads that race.
export default suite({
  slow: ['test/exit.test.ts', 'test/ring.test.ts'],
});
