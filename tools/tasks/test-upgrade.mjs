// `npm run test:upgrade`: packs and installs @rdmc/kv of the commit before and of this checkout, and upgrades a cluster under load from
// the one to the other, back, and again. --before COMMIT names another commit; the other arguments are those of the chaos harness.
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtCheckout, installKv, removeCheckout } from '../release/installed-kv.mjs';
import { root, run, setUp, stop } from './setup.mjs';

const { values } = parseArgs({
  options: {
    before: { type: 'string', default: 'HEAD~1' },
    runs: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    /** Builds and installs, and keeps the checkout of the commit before for the next call. */
    'only-install': { type: 'boolean', default: false },
  },
});

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const commit = git('rev-parse', '--verify', `${values.before}^{commit}`);
// Releases from before there were levels refuse to connect: nothing to upgrade from.
if (git('ls-tree', commit, 'packages/common/src/levels.ts') === '')
  stop(`${commit} is from before there were levels: members of it and of this checkout refuse each other`);

// Not in a folder node_modules: there the compiler does not write declarations.
const folder = join(tmpdir(), 'rdmc-upgrade');
const checkout = join(folder, commit);
setUp();
console.log(`── from ${git('log', '-1', '--format=%h %s', commit)}`);
const before = installKv(builtCheckout(root, commit, checkout), join(folder, 'before'));
const after = installKv(root, join(folder, 'after'));
if (values['only-install']) {
  console.log(`── installed: ${before} and ${after}`);
} else {
  const { runs, seed } = values;
  const args = [
    'tools/chaos/dist/main.js',
    '--kv',
    '--scenario',
    'kv-upgrade',
    '--runs',
    runs,
    '--seed',
    seed,
  ];
  run('upgrade', process.execPath, args, {
    loud: true,
    env: { RDMC_CHAOS_BEFORE: before, RDMC_CHAOS_AFTER: after },
  });
  removeCheckout(root, checkout);
}
