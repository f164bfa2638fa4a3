import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/main.ts', 'src/failure-reporter.ts'],
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
