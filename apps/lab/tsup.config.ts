import { bundle } from '../../tools/testing/config/bundle.js';

// reproduce and report: the commands. index: what the site draws.
export default bundle({
  entry: { reproduce: 'src/reproduce/main.ts', report: 'src/report/main.ts', index: 'src/index.ts' },
});
