import { suite } from '../../tools/testing/config/suite.js';

// slow: groups of many members, processes, and searches.
export default suite({
  // 'auto' would take an RDMA device of the machine, such as soft-RoCE on its network: most tests are about the soft device.
  env: { RDMC_DEVICE: process.env.RDMC_DEVICE ?? 'soft' },
  slow: [
    'test/cut-paths.test.ts',
    'test/delivered.test.ts',
    'test/docs.test.ts',
    'test/failure.test.ts',
    'test/late-thread.test.ts',
    'test/live.test.ts',
    'test/machine.test.ts',
    'test/many-hostile.test.ts',
    'test/many-model.test.ts',
    'test/many-stable.test.ts',
    'test/many.test.ts',
    'test/multicast.test.ts',
    'test/probes.test.ts',
    'test/relay.test.ts',
    'test/relayed-violation.test.ts',
    'test/series-model.test.ts',
    'test/small-model.test.ts',
    'test/small-tree.test.ts',
    'test/stable-model.test.ts',
    'test/stable-processes.test.ts',
    'test/stable.test.ts',
    'test/streams.test.ts',
    'test/trace.test.ts',
    'test/tree-model.test.ts',
  ],
});
