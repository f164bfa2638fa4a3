import { suite } from '../../tools/testing/config/suite.js';

// slow: processes, two threads that race, and many data planes.
export default suite({
  slow: [
    'test/drivers.test.ts',
    'test/exit.test.ts',
    'test/failure.test.ts',
    'test/refusals.test.ts',
    'test/ring.test.ts',
  ],
});
