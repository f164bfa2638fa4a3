import { defineConfig } from 'tsup';

// main: the command, which is also every process that it starts.
export default defineConfig({
  entry: { main: 'src/main.ts', index: 'src/index.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
