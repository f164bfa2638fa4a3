import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle({ entry: ['src/index.ts', 'src/worker.ts', 'src/machine.ts'] });
