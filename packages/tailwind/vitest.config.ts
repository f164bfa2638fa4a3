import { suite } from '../../tools/vitest/suite.js';

export default suite({
  slow: ['test/etcd-store.test.ts', 'test/processes.test.ts', 'test/replacement.test.ts'],
});
