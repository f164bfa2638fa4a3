import { bundle } from '../../tools/testing/config/bundle.js';

// main: the command, which is also every process that it starts. slot-divider: what scanning threads of backups load.
export default bundle({
  entry: { main: 'src/main.ts', index: 'src/index.ts', 'slot-divider': 'src/slot-divider.ts' },
});
