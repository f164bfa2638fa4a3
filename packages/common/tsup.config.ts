import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle({
  entry: ['src/index.ts', 'src/checks.ts', 'src/errors.ts', 'src/node-floor.ts', 'src/shapes.ts'],
});
