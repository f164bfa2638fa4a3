import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config';
import { LeftOutReporter } from './left-out-reporter.js';
import { RepeatReporter } from './repeat-reporter.js';

const MINUTE_MS = 60_000;
/** Most tests wait for processes, threads and leases, so more files than cores run at a time. */
const LEAST_WORKERS = 3;

type SuiteOptions = NonNullable<ViteUserConfig['test']> & {
  /** Test files that start whole systems or take long: `npm run test:quick` skips them. */
  slow?: string[];
};

/**
 * The configuration of every package's tests. Time limits are only for tests that hang: tests also run on busy machines.
 * A failure is followed by the command that repeats it.
 */
export function suite({ slow = [], ...options }: SuiteOptions = {}): ViteUserConfig {
  const leftOut = process.env.RDMC_TEST_QUICK === '1' ? slow : [];
  return defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      pool: 'forks',
      maxWorkers: Math.max(LEAST_WORKERS, availableParallelism() - 1),
      testTimeout: 3 * MINUTE_MS,
      hookTimeout: 2 * MINUTE_MS,
      reporters: ['default', new LeftOutReporter(), new RepeatReporter()],
      setupFiles: [fileURLToPath(new URL('seed.ts', import.meta.url))],
      exclude: [...configDefaults.exclude, ...leftOut],
      passWithNoTests: leftOut.length > 0,
      ...options,
    },
  });
}
