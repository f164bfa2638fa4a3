import { bundleWithThreads } from '../../tools/testing/config/bundle.js';

export default bundleWithThreads(
  { entry: ['src/index.ts', 'src/values.ts'], splitting: false },
  {
    entry: ['src/reader.ts', 'src/writer.ts', 'src/pull-reader.ts', 'src/pull-writer.ts'],
    noExternal: [/^@rdmc\/common/],
  },
);
