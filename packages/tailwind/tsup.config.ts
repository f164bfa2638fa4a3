import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/cli.ts', 'src/scan-worker.ts', 'src/worker.ts'],
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
