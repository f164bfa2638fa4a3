import { bundle } from '../testing/config/bundle.js';

export default bundle(['src/main.ts', 'src/failure-reporter.ts']);
