import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle({ entry: ['src/all.ts'] });
