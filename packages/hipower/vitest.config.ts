import { suite } from '../../tools/testing/config/suite.js';

// slow: members with threads, processes, and searches.
export default suite({
  slow: [
    'test/allocation.test.ts',
    'test/channel-trace.test.ts',
    'test/channel.test.ts',
    'test/errors.test.ts',
    'test/lifecycle.test.ts',
    'test/model.test.ts',
    'test/processes.test.ts',
    'test/violations.test.ts',
    'test/wake-up-saving.test.ts',
  ],
});
