// Tests that are too long for every push: each part in full for .ci/nightly, and as a smoke test of at most a minute for a push.
// `script` names a script of the root's package.json. A part without its script is listed and skipped.

/** Node.js versions that the packages support: the newest of each line. */
export const NODE_LINES = ['20', '22', '24', '26'];

export const SMOKE_SECONDS = 60;

/**
 * @typedef {object} NightlyPart
 * @property {string} label
 * @property {string} script
 * @property {string[]} full arguments of the script
 * @property {string[]} [smoke] arguments of the smoke test; without them a push does not run this part
 * @property {Record<string, string>} [env]
 * @property {number} minutes after which the full part is ended
 */

/** @type {NightlyPart[]} */
export const PARTS = [
  { label: 'searches', script: 'test:long', full: [], smoke: ['--smoke'], minutes: 20 },
  { label: 'Node.js versions', script: 'test:nodes', full: [], smoke: ['--smoke'], minutes: 30 },
  {
    label: 'chaos',
    script: 'test:chaos',
    full: ['--runs', '150'],
    smoke: ['--runs', '2', '--seed', '1'],
    minutes: 30,
  },
  { label: 'chaos of kv', script: 'test:chaos', full: ['--kv', '--runs', '24'], minutes: 15 },
  {
    label: 'mutants',
    script: 'test:mutants',
    // The tests of a mutant wait for most of their time.
    full: ['--jobs', '2'],
    smoke: ['--only', 'dataplane/ring-wrap'],
    minutes: 50,
  },
  { label: 'sanitizers', script: 'test:sanitize', full: [], smoke: ['--smoke'], minutes: 40 },
  {
    label: 'soft-RoCE',
    script: 'test:roce',
    // The others run for every push.
    full: ['hipower-losses', 'paramserver', 'compliance'],
    env: { RDMC_TEST_REQUIRE_ROCE: '1' },
    minutes: 40,
  },
  { label: 'release', script: 'test:release', full: [], smoke: ['--smoke'], minutes: 30 },
  { label: 'arm64', script: 'test:arm64', full: [], smoke: ['--smoke'], minutes: 30 },
  { label: 'browser', script: 'test:browser', full: [], smoke: ['--smoke'], minutes: 30 },
];
