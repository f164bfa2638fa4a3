import { bundleWithThreads } from '../../tools/testing/config/bundle.js';

export default bundleWithThreads(
  { entry: ['src/index.ts', 'src/machine.ts'] },
  { entry: ['src/worker.ts'], noExternal: [/^@rdmc\/(common|dataplane)/] },
);
