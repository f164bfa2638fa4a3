import { suite } from '../../tools/vitest/suite.js';

export default suite({
  slow: [
    'test/cluster.test.ts',
    'test/demo.test.ts',
    'test/fenced.test.ts',
    'test/left-behind.test.ts',
    'test/etcd.test.ts',
    'test/processes.test.ts',
    'test/strangers.test.ts',
    'test/broken-takeover.test.ts',
    'test/clients.test.ts',
    'test/full-log.test.ts',
  ],
});
