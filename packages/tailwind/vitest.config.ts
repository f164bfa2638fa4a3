import { suite } from '../../tools/testing/config/suite.js';

// slow: each test of these has members with backups, which start in a tenth of a second of a processor each.
export default suite({
  slow: [
    'test/application-thread.test.ts',
    'test/cleaning-model.test.ts',
    'test/cleaning-tombstones.test.ts',
    'test/cleaning.test.ts',
    'test/coordinator-model.test.ts',
    'test/coordinator.test.ts',
    'test/docs.test.ts',
    'test/etcd-store.test.ts',
    'test/forgotten-logs.test.ts',
    'test/live.test.ts',
    'test/log-trace.test.ts',
    'test/log.test.ts',
    'test/parallel-recovery-model.test.ts',
    'test/processes.test.ts',
    'test/pull.test.ts',
    'test/recovery.test.ts',
    'test/replacement.test.ts',
    'test/replica-set.test.ts',
    'test/scan-command.test.ts',
    'test/torn-append.test.ts',
    'test/tracing.test.ts',
  ],
});
