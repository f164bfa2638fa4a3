import { defineConfig } from 'tsup';

// main: the command. member: what it runs in the other processes of a group. hash-worker: threads that hash files.
export default defineConfig({
  entry: {
    main: 'src/main.ts',
    index: 'src/index.ts',
    member: 'src/member/main.ts',
    'bench-peer': 'src/bench/peer.ts',
    'hash-worker': 'src/hash/worker.ts',
  },
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  clean: true,
  sourcemap: true,
});
