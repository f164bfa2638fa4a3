// Reads every changeset as a release would: one that does not parse, or names an unknown package, fails here already.
// (`changeset status` does the same, but needs a branch to compare with, which a checkout of one commit lacks.)
import getReleasePlan from '@changesets/get-release-plan';
import { root, stop } from './setup.mjs';

const plan = (getReleasePlan.default ?? getReleasePlan)(root);
const { changesets, releases } = await plan.catch((error) => stop(error.message));
console.log(`${changesets.length} changesets, ${releases.length} packages to release`);
