import { bundle } from '../testing/config/bundle.js';

export default bundle({ entry: ['src/main.ts', 'src/failure-reporter.ts'] });
