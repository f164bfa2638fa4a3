// `npm test`: installs, builds, and runs every check and test of the repository, as many in parallel as the cores allow.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { passParts } from './parts.mjs';
import { prepare, root, run, tool, turboArgs, turboEnv, wantCommands } from './setup.mjs';
import { packageFolders, suitePlaces, suites } from './suites.mjs';

/** Checks that do not need a build. */
const FIRST = [
  { label: 'lint and format', command: tool('biome'), args: ['check', '.'] },
  { label: 'changesets', command: 'node', args: ['tools/tasks/changesets.mjs'] },
];
/** The sources of all packages: the layers are about these, and tests import any layer. */
const LAYERED = [...packageFolders(), 'test-e2e']
  .map((folder) => `${folder}/src`)
  .filter((folder) => existsSync(join(root, folder)));
/** The packages with types: one process of the compiler for all, which reads what they share once, in half of the time. */
const TYPED = [...packageFolders(), 'test-e2e'].filter((folder) =>
  existsSync(join(root, folder, 'tsconfig.json')),
);
/** Checks of the build, beside the tests: the long suites begin first. */
const CHECKS = [
  { label: 'types', command: 'node', args: ['tools/tsc/tsc.mjs', '-b', ...TYPED] },
  { label: 'layers', command: tool('depcruise'), args: ['--config', '.dependency-cruiser.cjs', ...LAYERED] },
  { label: 'unused code and dependencies', command: tool('knip'), args: [] },
].map((check) => ({ ...check, seconds: 15 }));

run('lock file', 'node', ['tools/tasks/complete-lock.mjs', '--check']);
prepare();
if (!process.env.RDMC_TEST_ETCD) wantCommands('Tests of the etcd store', [['etcd', 'etcd-server']]);
wantCommands('Tests of @rdmc/kv against Redis', [
  ['redis-server', 'redis-server'],
  ['redis-benchmark', 'redis-tools'],
]);
const build = {
  label: 'build',
  command: tool('turbo'),
  args: turboArgs(),
  env: turboEnv(),
  seconds: 100,
};
await passParts([build, ...FIRST]);
await passParts([...CHECKS, ...suites()], suitePlaces);
