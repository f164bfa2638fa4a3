import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle({
  entry: [
    'src/index.ts',
    'src/backup.ts',
    'src/coordinator.ts',
    'src/etcd.ts',
    'src/format.ts',
    'src/salvage.ts',
    'src/cli.ts',
    'src/scan-worker.ts',
    'src/worker.ts',
  ],
});
