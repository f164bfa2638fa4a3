// `npm run test:quick`: the unit tests of what changed, and of all packages that depend on it, without the slow
// files that a package names in its vitest.config.ts. Changes are counted since the merge base with main, or, on main
// itself, since the commit before; `npm run test:quick -- COMMIT` compares with another one.
import { execFileSync } from 'node:child_process';
import { passParts, places } from './parts.mjs';
import { root, setUp, stop, tool } from './setup.mjs';
import { quickSuites } from './suites.mjs';

function output(command, args) {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** The commit to compare with. */
function base() {
  if (process.argv[2]) return process.argv[2];
  for (const main of ['main', 'origin/main']) {
    try {
      const fork = output('git', ['merge-base', 'HEAD', main]);
      return fork === output('git', ['rev-parse', 'HEAD']) ? 'HEAD~1' : fork;
    } catch {
      // The branch does not exist here.
    }
  }
  return 'HEAD~1';
}

/** Folders of the packages that changed since the commit or depend on one that did; by turbo's graph. */
function changed(commit) {
  try {
    const { packages } = JSON.parse(
      output(tool('turbo'), ['ls', `--filter=...[${commit}]`, '--output=json']),
    );
    return packages.items.map(({ path }) => path);
  } catch (error) {
    return stop(`No packages could be compared with ${commit}: ${error.stderr || error.message}`);
  }
}

setUp();
const commit = base();
const parts = quickSuites(changed(commit), places);
console.log(`   since ${commit}: ${parts.map(({ label }) => label).join(', ') || 'no package changed'}`);
await passParts(parts);
