// Reads every changeset as a release would: one that does not parse, or names an unknown package, fails here already.
// (`changeset status` does the same, but needs a branch to compare with, which a checkout of one commit lacks.)
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import getReleasePlan from '@changesets/get-release-plan';
import { root, stop } from './setup.mjs';
import { versionProblems } from './versions.mjs';

/** The manifests of all packages of the workspace. */
function manifests() {
  const folders = ['packages', 'apps', 'tools'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(parent, name)),
  );
  return [...folders, 'test-e2e'].flatMap((folder) => {
    try {
      return [JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))];
    } catch (error) {
      if (error.code === 'ENOENT') return [];
      throw error;
    }
  });
}

const problems = versionProblems(manifests());
if (problems.length > 0) stop(problems.join('\n'));
const plan = (getReleasePlan.default ?? getReleasePlan)(root);
const { changesets, releases } = await plan.catch((error) => stop(error.message));
const released = releases.filter(({ type }) => type !== 'none');
const version = released[0]?.newVersion;
console.log(
  `${changesets.length} changesets, ${released.length} packages to release${version ? ` as ${version}` : ''}`,
);
