// Run before each test file: makes property tests repeat a failed example. RepeatReporter prints both variables.
// fast-check is loaded only when they are set, because it takes longer to load than many tests take to run.

// Worker threads and processes of tests start as those of users do: they would inherit the runner's arguments, among them
// a module to load first.
process.execArgv.length = 0;

const { RDMC_TEST_SEED: seed, RDMC_TEST_PATH: path } = process.env;
if (seed) {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed), ...(path && { path }) });
}
