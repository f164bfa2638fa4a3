import { suite } from '../../tools/testing/config/suite.js';

// All tests use the sources, not the build: the addon has one class of errors in a process.
// slow: these compile programs, or start a process for each test.
export default suite({
  slow: [
    'test/blocked-wait.test.ts',
    'test/build-native.test.ts',
    'test/descriptor-worker.test.ts',
    'test/fuzz.test.ts',
    'test/ibverbs-breaking.test.ts',
    'test/ibverbs-device.test.ts',
    'test/ibverbs-events.test.ts',
    'test/ibverbs-library.test.ts',
    'test/ibverbs-open.test.ts',
    'test/receive-wrap.test.ts',
    'test/refused-posts.test.ts',
    'test/registered-memory.test.ts',
    'test/registering-worker.test.ts',
    'test/soft-exhausted.test.ts',
    'test/soft-faults.test.ts',
    'test/soft-hostile-dialler.test.ts',
    'test/soft-hostile-listener.test.ts',
    'test/soft-key.test.ts',
    'test/soft-link.test.ts',
    'test/soft-strangers.test.ts',
    'test/terminated-inside.test.ts',
    'test/write-tear.test.ts',
  ],
});
