import { bundle } from '../../tools/testing/config/bundle.js';

// main: the command. worker-main: what it runs in the processes of the workers.
export default bundle({
  entry: { main: 'src/main.ts', index: 'src/index.ts', 'worker-main': 'src/worker-main.ts' },
});
