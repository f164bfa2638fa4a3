import { bundle } from '../../tools/testing/config/bundle.js';

// Neither Node nor DOM: the same file runs in a browser and in a worker.
export default bundle({ entry: ['src/index.ts'], platform: 'neutral', target: 'es2022' });
