import { defineConfig } from 'vitest/config';

// One file at a time: labs share the machine's two or four cores, and some tests look at times.
// Limits of time are there for what hangs: tests also run on busy machines.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
