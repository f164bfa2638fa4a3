import { bundle } from '../../tools/testing/config/bundle.js';

// main: the command, which is also every process that it starts.
export default bundle({ entry: { main: 'src/main.ts', index: 'src/index.ts' } });
