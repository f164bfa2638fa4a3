// The packages' test suites, as parts of a run.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

/**
 * Seconds of a suite beside others on two cores, and the number of its pieces. The longest start first; a suite
 * that takes longer than the others together is split into pieces. A suite that is not listed takes DEFAULT_SECONDS.
 */
const MEASURED = {
  'apps/kv': { seconds: 98 },
  'apps/paramserver': { seconds: 78 },
  'apps/rdmc': { seconds: 104 },
  'apps/training': { seconds: 20 },
  'packages/cast': { seconds: 88 },
  'packages/dataplane': { seconds: 32 },
  'packages/group': { seconds: 26 },
  'packages/hipower': { seconds: 175 },
  'packages/tailwind': { seconds: 92 },
  'packages/verbs': { seconds: 28 },
  'packages/verbs-compliance': { seconds: 117, pieces: 2 },
  'test-e2e': { seconds: 305, pieces: 3 },
  'tools/chaos': { seconds: 193 },
  'tools/release': { seconds: 25 },
  'tools/roce-vm': { seconds: 37 },
};
const DEFAULT_SECONDS = 15;
/** Small suites: one process of the runner runs them, because it takes a second of a processor to start. */
const TOGETHER = [
  'apps/lab',
  'packages/common',
  'packages/metrics',
  'packages/node',
  'packages/schedule',
  'packages/simulator',
  'tools/mutants',
  'tools/release',
  'tools/site',
  'tools/tasks',
  'tools/testing',
];
/** The suites' runner, without npm: one start of npm takes half a second of a processor. */
const VITEST = join(root, 'node_modules', 'vitest', 'vitest.mjs');

/** The folders of packages, apps and tools, relative to the repository. */
export function packageFolders() {
  return ['packages', 'apps', 'tools'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
  );
}

/** The folders of all packages that have tests, relative to the repository. */
export function suiteFolders() {
  return [...packageFolders(), 'test-e2e'].filter((folder) => {
    const path = join(root, folder, 'package.json');
    return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).scripts?.test;
  });
}

/** One part, or several, of the suite of one package. */
function partsOf(folder) {
  const { seconds = DEFAULT_SECONDS, pieces = 1 } = MEASURED[folder] ?? {};
  return Array.from({ length: pieces }, (_, index) => {
    const piece = `${index + 1}/${pieces}`;
    return {
      label: pieces === 1 ? folder : `${folder} ${piece}`,
      command: 'node',
      args: [VITEST, 'run', ...(pieces === 1 ? [] : [`--shard=${piece}`])],
      cwd: folder,
      seconds: seconds / pieces,
    };
  });
}

function together(folders) {
  return {
    label: folders.join(', '),
    command: 'node',
    args: [VITEST, 'run', '--config', 'tools/tasks/together.vitest.config.ts'],
    env: { RDMC_TEST_FOLDERS: folders.join() },
    seconds: folders.reduce((sum, folder) => sum + (MEASURED[folder]?.seconds ?? DEFAULT_SECONDS), 0),
  };
}

/** The suites of these packages, or of all. */
export function suites(folders = suiteFolders()) {
  const known = new Set(suiteFolders());
  const chosen = folders.filter((folder) => known.has(folder));
  const small = chosen.filter((folder) => TOGETHER.includes(folder));
  const others = chosen.filter((folder) => !TOGETHER.includes(folder)).flatMap(partsOf);
  return small.length > 0 ? [...others, together(small)] : others;
}
