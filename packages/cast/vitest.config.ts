import { suite } from '../../tools/testing/config/suite.js';

// slow: casts to receivers, each of which takes several threads or processes.
export default suite({
  slow: [
    'test/archive.test.ts',
    'test/cast.test.ts',
    'test/compare.test.ts',
    'test/compression.test.ts',
    'test/death.test.ts',
    'test/docs.test.ts',
    'test/durability.test.ts',
    'test/encryption.test.ts',
    'test/extended.test.ts',
    'test/failure.test.ts',
    'test/gathering.test.ts',
    'test/hostile.test.ts',
    'test/keys.test.ts',
    'test/memory.test.ts',
    'test/programs.test.ts',
    'test/pull-hostile.test.ts',
    'test/pull.test.ts',
    'test/resume-killed.test.ts',
    'test/resume.test.ts',
    'test/serve-on.test.ts',
    'test/shards.test.ts',
    'test/shared-memory.test.ts',
    'test/spare-node.test.ts',
    'test/stall.test.ts',
    'test/stream.test.ts',
    'test/tracing.test.ts',
  ],
});
