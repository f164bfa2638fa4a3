import { suite } from '../../tools/testing/config/suite.js';

// A file of its own environment variables, which devices read, in a process of its own.
export default suite({
  isolate: true,
  slow: [
    'test/faults.test.ts',
    'test/ibverbs-fake.test.ts',
    'test/soft-tcp-process.test.ts',
    'test/soft-tcp-ipv6.test.ts',
    'test/soft-shm-process.test.ts',
    'test/soft-shm-worker.test.ts',
    'test/soft-tcp-thread.test.ts',
    'test/soft-tcp-worker.test.ts',
  ],
});
