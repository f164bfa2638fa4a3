import { bundleWithThreads } from '../../tools/testing/config/bundle.js';

export default bundleWithThreads(
  { entry: ['src/all.ts', 'src/etcd.ts', 'src/format.ts', 'src/cli.ts'] },
  { entry: ['src/scan-worker.ts', 'src/worker.ts'], noExternal: [/^@rdmc\/(common|dataplane)/] },
);
