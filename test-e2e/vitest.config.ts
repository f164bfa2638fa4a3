import { defineConfig } from 'vitest/config';

// Whole systems want the machine for themselves: one file at a time.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
