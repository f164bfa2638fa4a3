import { suite } from '../../tools/testing/config/suite.js';

export default suite({
  slow: ['test/etcd-store.test.ts', 'test/processes.test.ts', 'test/replacement.test.ts'],
});
