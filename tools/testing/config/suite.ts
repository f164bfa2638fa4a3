import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config';
import { LeftOutReporter } from './left-out-reporter.js';
import { RepeatReporter } from './repeat-reporter.js';

const MINUTE_MS = 60_000;
/** Several suites run at once, and most tests wait; each worker takes a third of a second of processor time to start. */
const LEAST_WORKERS = 2;
/** RDMC_TEST_WORKERS: of several suites in one process of the runner, all need the same number. */
const WORKERS = Number(process.env.RDMC_TEST_WORKERS) || Math.max(LEAST_WORKERS, availableParallelism() - 1);

type SuiteOptions = NonNullable<ViteUserConfig['test']> & {
  /** Test files that start whole systems or take long: `npm run test:quick` skips them. */
  slow?: string[];
  /**
   * Whether each test file has a process of its own (default: false). That costs half a second of processor time for
   * each file, so files share a process and leave nothing behind in it. A file that mocks a module starts and ends
   * with `vi.resetModules()`.
   */
  isolate?: boolean;
  /** Whether tests download something (default: false). */
  network?: boolean;
};

/**
 * Node.js reads the certificates of this file, and its own, at the start of each process: that takes longer than the rest of its
 * start. Only downloads need them.
 */
const NO_CERTIFICATES = { NODE_EXTRA_CA_CERTS: '' };

/** Modules that run before each test file. */
const SETUP = ['seed.ts', ...(process.env.RDMC_TEST_CPU ? ['processor.ts'] : [])];

/**
 * Built packages: Node.js loads them, as for users. Vitest would compile them again for each package that has tests, and
 * evaluate them in each process.
 */
const BUILT = /\/(?:packages|apps|tools)\/[^/]+\/dist\//;

/**
 * The configuration of every package's tests. Time limits are only for tests that hang: tests also run on busy machines.
 * A failure is followed by the command that repeats it.
 */
export function suite({
  slow = [],
  exclude = [],
  isolate = false,
  network = false,
  env = {},
  ...options
}: SuiteOptions = {}): ViteUserConfig {
  const leftOut = process.env.RDMC_TEST_QUICK === '1' ? slow : [];
  return defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      pool: 'forks',
      isolate,
      maxWorkers: WORKERS,
      testTimeout: 3 * MINUTE_MS,
      hookTimeout: 2 * MINUTE_MS,
      // Vitest's own limit is a second; this one is below the test's, so that the error names the value.
      expect: { poll: { timeout: 2 * MINUTE_MS } },
      reporters: ['default', new LeftOutReporter(), new RepeatReporter()],
      setupFiles: SETUP.map((name) => fileURLToPath(new URL(name, import.meta.url))),
      exclude: [...configDefaults.exclude, ...exclude, ...leftOut],
      passWithNoTests: leftOut.length > 0,
      env: { ...(network ? {} : NO_CERTIFICATES), ...env },
      server: { deps: { external: [BUILT] } },
      ...options,
    },
  });
}
