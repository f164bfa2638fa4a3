import { defineConfig } from 'vitest/config';

// One file at a time: labs share the machine's two or four cores, and some tests look at times.
export default defineConfig({
  test: { include: ['test/**/*.test.ts'], pool: 'forks', fileParallelism: false, testTimeout: 30_000 },
});
