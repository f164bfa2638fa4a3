import { suite } from '../../tools/testing/config/suite.js';

// slow: processes, and channels of every mode over every transport.
export default suite({
  slow: [
    'test/allocation.test.ts',
    'test/channel.test.ts',
    'test/processes.test.ts',
    'test/model.test.ts',
    'test/violations.test.ts',
  ],
});
