import { availableParallelism } from 'node:os';
import { suite } from '../../tools/vitest/suite.js';

// Most tests wait for processes, threads and leases, so more files than cores run at a time.
export default suite({
  slow: ['test/etcd-store.test.ts', 'test/processes.test.ts', 'test/replacement.test.ts'],
  maxWorkers: Math.max(3, availableParallelism() - 1),
});
