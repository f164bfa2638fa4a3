import { defineConfig } from 'tsup';

// main: the command. stream-peer: one end of the TCP stream that `goodput` measures, run inside a host.
export default defineConfig({
  entry: { index: 'src/index.ts', main: 'src/cli/main.ts', 'stream-peer': 'src/stream-peer.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
