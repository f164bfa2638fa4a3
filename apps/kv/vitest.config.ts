import { suite } from '../../tools/testing/config/suite.js';

// slow: these start processes, wait for recoveries, or take seconds of a processor.
export default suite({
  slow: [
    'test/absence-model.test.ts',
    'test/admin-status.test.ts',
    'test/broken-takeover.test.ts',
    'test/clients.test.ts',
    'test/cluster.test.ts',
    'test/demo.test.ts',
    'test/end-while-starting.test.ts',
    'test/etcd.test.ts',
    'test/failed-server.test.ts',
    'test/fenced.test.ts',
    'test/full-log.test.ts',
    'test/hand-over.test.ts',
    'test/handover-model.test.ts',
    'test/hostile.test.ts',
    'test/impostor.test.ts',
    'test/metrics.test.ts',
    'test/processes.test.ts',
    'test/replica-counts.test.ts',
    'test/restore.test.ts',
    'test/segment-sizes.test.ts',
    'test/slot-copy.test.ts',
    'test/snapshot.test.ts',
    'test/standby.test.ts',
    'test/start-again.test.ts',
  ],
});
