import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle(['src/index.ts']);
