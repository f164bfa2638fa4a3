import { defineConfig } from 'vitest/config';

// One file at a time: each run of the harness is a cluster of processes.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 240_000,
  },
});
