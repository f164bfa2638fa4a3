// Tests that are too long for every push: each part in full for .ci/nightly, and as a smoke test of at most a minute for a push.
// `script` names a script of the root's package.json. A part without its script is listed and skipped.

/** Node.js versions that the packages support: the newest of each line. */
export const NODE_LINES = ['20', '22', '24', '26'];

/** Limits end only what hangs: they are at least three times what a part takes alone, because the machine may be busy. */
export const SMOKE_LIMIT_SECONDS = 900;

/**
 * @typedef {object} NightlyPart
 * @property {string} label
 * @property {string} script
 * @property {string[]} [full] arguments of the script; without them another part of the nightly run contains this one
 * @property {string[]} [smoke] arguments of the smoke test; without them a push does not run this part
 * @property {Record<string, string>} [env]
 * @property {number} [limitMinutes] after which the full part is ended
 */

const scenarios = (...names) => names.flatMap((name) => ['--scenario', name]);

/** @type {NightlyPart[]} */
export const PARTS = [
  { label: 'searches', script: 'test:long', full: [], smoke: ['--smoke'], limitMinutes: 20 },
  {
    label: 'processes of kv',
    script: 'test:long',
    smoke: ['apps/kv/test/demo', 'apps/kv/test/standby', 'apps/kv/test/start-again'],
  },
  {
    label: 'hosts of a network',
    script: 'test:long',
    smoke: ['test-e2e/test/cast-network', 'test-e2e/test/hipower-network'],
  },
  { label: 'Node.js versions', script: 'test:nodes', full: [], smoke: ['--smoke'], limitMinutes: 60 },
  {
    label: 'chaos',
    script: 'test:chaos',
    full: ['--store', '--runs', '45'],
    smoke: ['--store', '--runs', '2', '--seed', '1'],
    limitMinutes: 75,
  },
  {
    label: 'chaos of kv',
    script: 'test:chaos',
    full: ['--kv', '--runs', '32'],
    // The other scenarios are in `npm test`, or parts of those that are, or take longer.
    smoke: ['--kv', '--runs', '3', '--seed', '1880', ...scenarios('kv-upgrade', 'kv-twin', 'kv-drain-death')],
    limitMinutes: 45,
  },
  {
    label: 'chaos of groups',
    script: 'test:chaos',
    full: ['--group', '--runs', '24'],
    // The others are in `npm test`, or parts of those that are, or cut links as one of those does.
    smoke: ['--group', '--runs', '1', '--seed', '7', '--scenario', 'group-members'],
    limitMinutes: 45,
  },
  { label: 'upgrade', script: 'test:upgrade', full: ['--runs', '4'], limitMinutes: 45 },
  {
    label: 'mutants',
    script: 'test:mutants',
    // The tests of a mutant wait for most of their time.
    full: ['--jobs', '2'],
    smoke: ['--only', 'dataplane/ring-wrap'],
    limitMinutes: 100,
  },
  {
    label: 'sanitizers',
    script: 'test:sanitize',
    full: ['--seconds', '15'],
    smoke: ['--smoke'],
    limitMinutes: 60,
  },
  {
    label: 'soft-RoCE',
    script: 'test:roce',
    // The others run for every push.
    full: ['hipower-losses', 'paramserver', 'compliance'],
    env: { RDMC_TEST_REQUIRE_ROCE: '1' },
    limitMinutes: 45,
  },
  { label: 'release', script: 'test:release', full: [], smoke: ['--smoke'], limitMinutes: 60 },
  { label: 'arm64', script: 'test:arm64', full: [], smoke: ['--smoke'], limitMinutes: 30 },
  { label: 'browser', script: 'test:browser', full: [], smoke: ['--smoke'], limitMinutes: 30 },
];
