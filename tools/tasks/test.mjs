// `npm test`: installs, builds, and runs every check and test of the repository, cheapest first.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, setUp, wantCommands } from './setup.mjs';

setUp();
if (!process.env.RDMC_TEST_ETCD) wantCommands('Tests of the etcd store', [['etcd', 'etcd-server']]);
wantCommands('Tests of @rdmc/kv against Redis', [
  ['redis-server', 'redis-server'],
  ['redis-benchmark', 'redis-tools'],
]);
run('lint and format', 'npx', ['biome', 'check', '.']);
run('types', 'npx', ['turbo', 'run', 'typecheck', '--output-logs=errors-only']);
run('layers', 'npx', [
  'depcruise',
  '--config',
  '.dependency-cruiser.cjs',
  'packages',
  'apps',
  'tools/netlab',
  'tools/roce-vm',
  'tools/chaos',
  'tools/mutants',
  'test-e2e',
]);
run('unused code and dependencies', 'npx', ['knip']);
run('changesets', 'node', ['tools/tasks/changesets.mjs']);
for (const name of readdirSync(join(root, 'packages'))) {
  run(`package @rdmc/${name}`, 'npx', ['publint', '--strict', join('packages', name)]);
  run(`types of @rdmc/${name}`, 'npx', ['attw', '--pack', join('packages', name), '--profile', 'esm-only']);
}
run(
  'unit and compliance tests',
  'npx',
  ['turbo', 'run', 'test', '--concurrency=1', '--output-logs=errors-only', '--filter=!@rdmc/test-e2e'],
  { loud: true },
);
run('end-to-end tests', 'npm', ['test', '-w', '@rdmc/test-e2e'], { loud: true });
