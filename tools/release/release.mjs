// `npm run release`: builds, packs, checks and publishes every public package.
//   npm run release -- --dry-run                        all of it but publishing
//   npm run release -- --addon linux-arm64=FILE         with the addon of another platform
//   npm run release -- --out FOLDER                     where the tarballs go
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root, setUp, stop } from '../tasks/setup.mjs';
import { chosenAddons } from './addon.mjs';
import { packAll, tarballProblems } from './pack.mjs';
import { publishAll } from './publish.mjs';
import { pendingChangesets } from './staging.mjs';

const OPTIONS = {
  'dry-run': { type: 'boolean', default: false },
  addon: { type: 'string', multiple: true, default: [] },
  out: { type: 'string', default: join(root, 'node_modules', '.cache', 'rdmc-release') },
};

/** What is published is what a commit has. */
function checkCommitted() {
  const pending = pendingChangesets();
  if (pending.length > 0) {
    throw new Error(
      `${pending.length} changesets have no version: run 'npx changeset version' and commit the result`,
    );
  }
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' });
  if (changed)
    throw new Error(`There are files that are not committed: commit them, or add them to .gitignore`);
}

function show(packed) {
  for (const { name, version, tarball } of packed) {
    console.log(`${name}@${version}  ${(statSync(tarball).size / 1000).toFixed(0)} kB  ${tarball}`);
  }
}

function release({ 'dry-run': isDry, addon, out }) {
  if (!isDry) checkCommitted();
  setUp();
  const packed = packAll(resolve(out), chosenAddons(addon));
  show(packed);
  const problems = tarballProblems(packed);
  if (problems.length > 0) throw new Error(`The packages are not ready:\n  ${problems.join('\n  ')}`);
  if (isDry) console.log(`${packed.length} packages are ready; nothing was published`);
  else publishAll(packed);
}

try {
  release(parseArgs({ options: OPTIONS }).values);
} catch (error) {
  stop(error.message);
}
