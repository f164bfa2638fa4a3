import { suite } from '../../tools/testing/config/suite.js';

export default suite({
  slow: [
    'test/faults.test.ts',
    'test/ibverbs-fake.test.ts',
    'test/soft-tcp-process.test.ts',
    'test/soft-tcp-ipv6.test.ts',
    'test/soft-shm-process.test.ts',
  ],
});
