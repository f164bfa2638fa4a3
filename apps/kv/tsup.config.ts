import { bundle } from '../../tools/testing/config/bundle.js';

// main: the command, which is also every process that it starts.
export default bundle({ main: 'src/main.ts', index: 'src/index.ts' });
