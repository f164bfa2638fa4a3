import { copyFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

// main: the command. member: what it runs in the other processes of a group. hash-worker: threads that hash files.
// zod is bundled, less what is not used of it: as modules of its own it takes 0.1 s to load in every process.
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
  noExternal: ['zod'],
  clean: true,
  sourcemap: true,
  onSuccess: async () => copyFileSync('../../node_modules/zod/LICENSE', 'dist/LICENSE-zod'),
});
