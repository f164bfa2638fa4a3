import { suite } from '../../tools/testing/config/suite.js';

// slow: processes, and casts to receivers.
export default suite({
  slow: [
    'test/bench.test.ts',
    'test/bench-failure.test.ts',
    'test/cast.test.ts',
    'test/cast-failure.test.ts',
    'test/cast-gathering.test.ts',
    'test/cast-lost.test.ts',
    'test/cast-missing.test.ts',
    'test/cast-resume.test.ts',
    'test/cast-ssh.test.ts',
    'test/cast-usage.test.ts',
    'test/demo.test.ts',
    'test/devices.test.ts',
    'test/failure.test.ts',
    'test/help.test.ts',
    'test/key-pipe.test.ts',
    'test/lookup.test.ts',
    'test/old-node.test.ts',
    'test/output-failure.test.ts',
    'test/programs.test.ts',
    'test/pull.test.ts',
    'test/receive-metrics.test.ts',
    'test/simulate.test.ts',
    'test/trace.test.ts',
  ],
});
