import { defineConfig } from 'vitest/config';

// Limits of time are there for what hangs: tests also run on busy machines.
export default defineConfig({
  test: { include: ['test/**/*.test.ts'], pool: 'forks', testTimeout: 180_000, hookTimeout: 120_000 },
});
