import { defineConfig } from 'tsup';

// main: the command.
export default defineConfig({
  entry: { index: 'src/index.ts', main: 'src/cli/main.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
