import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Limits of time are there for what hangs: tests also run on busy machines. Most tests wait for processes, threads and
// leases; so on two cores three files run at a time, where vitest would run one.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/repeatable.ts'],
    pool: 'forks',
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
