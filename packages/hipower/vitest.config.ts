import { defineConfig } from 'vitest/config';

// Limits of time are there for what hangs: tests also run on busy machines.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most of these tests wait: for processes to start, for time-outs, for peers.
    maxWorkers: 4,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
