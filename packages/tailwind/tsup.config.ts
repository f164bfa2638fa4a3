import { bundleWithThreads } from '../../tools/testing/config/bundle.js';

export default bundleWithThreads(
  {
    entry: [
      'src/index.ts',
      'src/backup.ts',
      'src/coordinator.ts',
      'src/etcd.ts',
      'src/format.ts',
      'src/salvage.ts',
      'src/cli.ts',
    ],
  },
  { entry: ['src/scan-worker.ts', 'src/worker.ts'], noExternal: [/^@rdmc\/(common|dataplane)/] },
);
