import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle(['src/index.ts', 'src/cli.ts', 'src/scan-worker.ts', 'src/worker.ts']);
