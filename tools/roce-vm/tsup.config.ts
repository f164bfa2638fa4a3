import { bundle } from '../testing/config/bundle.js';

// main: the command.
export default bundle({ entry: { index: 'src/index.ts', main: 'src/cli/main.ts' } });
