import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm'],
  // Neither Node nor DOM: the same file runs in a browser and in a worker.
  platform: 'neutral',
  target: 'es2022',
  clean: true,
  sourcemap: true,
});
