import { defineConfig } from 'tsup';

// main: the command. worker-main: what it runs in the processes of the workers.
export default defineConfig({
  entry: { main: 'src/main.ts', index: 'src/index.ts', 'worker-main': 'src/worker-main.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
