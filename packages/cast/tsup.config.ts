import { bundle } from '../../tools/testing/config/bundle.js';

export default bundle({
  entry: ['src/index.ts', 'src/reader.ts', 'src/writer.ts', 'src/pull-reader.ts', 'src/pull-writer.ts'],
});
