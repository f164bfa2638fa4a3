import { bundle, WITH_ZOD } from '../../tools/testing/config/bundle.js';

// main: the command. member: what it runs in the other processes of a group. hash-worker: threads that hash files.
export default bundle({
  entry: {
    main: 'src/main.ts',
    index: 'src/index.ts',
    member: 'src/member/main.ts',
    'bench-peer': 'src/bench/peer.ts',
    'hash-worker': 'src/hash/worker.ts',
  },
  ...WITH_ZOD,
});
