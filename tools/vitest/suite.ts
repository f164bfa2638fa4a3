import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { RepeatReporter } from './repeat-reporter.js';

const MINUTE_MS = 60_000;

/**
 * The configuration of every package's tests. Limits of time are there for what hangs: tests also run on busy machines.
 * A failure is followed by the command that repeats it.
 */
export function suite(options: NonNullable<ViteUserConfig['test']> = {}): ViteUserConfig {
  return defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      pool: 'forks',
      testTimeout: 3 * MINUTE_MS,
      hookTimeout: 2 * MINUTE_MS,
      reporters: ['default', new RepeatReporter()],
      setupFiles: [fileURLToPath(new URL('seed.ts', import.meta.url))],
      ...options,
    },
  });
}
