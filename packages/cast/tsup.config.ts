import { bundle } from '../../tools/testing/config/bundle.js';

// The readers and the writers are modules of threads. No thread loads two of these files, so they share no chunks: a chunk takes
// most of a millisecond to load, in each thread of each cast.
export default bundle({
  entry: [
    'src/index.ts',
    'src/values.ts',
    'src/reader.ts',
    'src/writer.ts',
    'src/pull-reader.ts',
    'src/pull-writer.ts',
  ],
  splitting: false,
});
