import { suite } from '../../tools/testing/config/suite.js';

export default suite({
  slow: [
    'test/cast-failure.test.ts',
    'test/cast-lost.test.ts',
    'test/cast-missing.test.ts',
    'test/cast-usage.test.ts',
    'test/cast-ssh.test.ts',
    'test/cast.test.ts',
    'test/failure.test.ts',
    'test/bench.test.ts',
    'test/demo.test.ts',
  ],
});
