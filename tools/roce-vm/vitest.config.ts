import { defineConfig } from 'vitest/config';

// One machine at a time: an emulated processor takes all of two cores.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 240_000,
  },
});
