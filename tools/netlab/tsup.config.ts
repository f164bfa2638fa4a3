import { bundle } from '../testing/config/bundle.js';

// main: the command. stream-peer: one end of the TCP stream that `goodput` measures, run inside a host.
export default bundle({
  entry: {
    index: 'src/index.ts',
    main: 'src/cli/main.ts',
    'stream-peer': 'src/stream-peer.ts',
  },
});
