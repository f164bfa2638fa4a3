import { suite } from '../../tools/testing/config/suite.js';

// slow: these start processes, or wait for recoveries.
export default suite({
  slow: [
    'test/absence-model.test.ts',
    'test/broken-takeover.test.ts',
    'test/cluster.test.ts',
    'test/demo.test.ts',
    'test/fenced.test.ts',
    'test/etcd.test.ts',
    'test/left-behind.test.ts',
    'test/full-log.test.ts',
    'test/hand-over.test.ts',
    'test/handover-model.test.ts',
    'test/processes.test.ts',
  ],
});
