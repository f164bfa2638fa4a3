// The packages' test suites, as parts of a run.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { places } from './parts.mjs';
import { root } from './setup.mjs';

/**
 * Test files of a part at once. Each worker of the runner takes up to a second of a processor to start and to load the sources:
 * two cores have one for each part, and more parts at once instead.
 */
const WORKERS = Math.max(1, availableParallelism() - 1);
const LEAST_PLACES = 8;
/** Suites that run at once: they wait for most of their time. */
export const suitePlaces = Number(process.env.RDMC_TEST_PLACES) || Math.max(LEAST_PLACES, places);
/**
 * Seconds of a suite beside others on two cores, and the number of its pieces. The longest start first; a suite
 * that takes longer than the others together is split into pieces. A suite that is not listed takes DEFAULT_SECONDS.
 * `npm test` prints the seconds of each part: a part that ends long after the others has too small a number here. Suites that wait for
 * most of their time have larger numbers, so that those that need a processor are the last.
 */
const MEASURED = {
  'apps/kv': { seconds: 500, pieces: 2 },
  'apps/rdmc': { seconds: 490, pieces: 2 },
  'packages/cast': { seconds: 690, pieces: 2 },
  'packages/dataplane': { seconds: 66 },
  'packages/group': { seconds: 240 },
  'packages/hipower': { seconds: 130 },
  'packages/mesh': { seconds: 235 },
  'packages/tailwind': { seconds: 230 },
  'packages/verbs': { seconds: 260 },
  'packages/verbs-compliance': { seconds: 440, pieces: 2 },
  'test-e2e': { seconds: 620, pieces: 2 },
  'tools/chaos': { seconds: 260 },
  'tools/netlab': { seconds: 36 },
  'tools/release': { seconds: 77 },
  'tools/roce-vm': { seconds: 25 },
};
const DEFAULT_SECONDS = 24;
/** Small suites: one process of the runner runs them, because it takes a second of a processor to start. */
const TOGETHER = [
  'apps/lab',
  'apps/paramserver',
  'apps/training',
  'packages/common',
  'packages/metrics',
  'packages/node',
  'packages/schedule',
  'packages/simulator',
  'tools/mutants',
  'tools/site',
  'tools/tasks',
  'tools/testing',
];
/** The suites' runner, without npm: one start of npm takes half a second of a processor. */
export const VITEST = join(root, 'node_modules', 'vitest', 'vitest.mjs');

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
  const seconds = secondsOf(folder);
  const pieces = MEASURED[folder]?.pieces ?? 1;
  return Array.from({ length: pieces }, (_, index) => {
    const piece = `${index + 1}/${pieces}`;
    return {
      label: pieces === 1 ? folder : `${folder} ${piece}`,
      command: 'node',
      args: [VITEST, 'run', ...(pieces === 1 ? [] : [`--shard=${piece}`])],
      cwd: folder,
      env: { RDMC_TEST_WORKERS: String(WORKERS) },
      seconds: seconds / pieces,
    };
  });
}

/** One process of the runner for several suites; `workers`: test files at once. */
function together(folders, workers) {
  return {
    label: folders.join(', '),
    command: 'node',
    args: [VITEST, 'run', '--config', 'tools/tasks/together.vitest.config.ts'],
    env: { RDMC_TEST_FOLDERS: folders.join(), RDMC_TEST_WORKERS: String(workers) },
    seconds: folders.reduce((sum, folder) => sum + secondsOf(folder), 0),
  };
}

function secondsOf(folder) {
  return MEASURED[folder]?.seconds ?? DEFAULT_SECONDS;
}

/** Those of the folders that have a suite. */
function withSuite(folders) {
  const known = new Set(suiteFolders());
  return folders.filter((folder) => known.has(folder));
}

/** The suites of these packages, or of all. */
export function suites(folders = suiteFolders()) {
  const chosen = withSuite(folders);
  const small = chosen.filter((folder) => TOGETHER.includes(folder));
  const others = chosen.filter((folder) => !TOGETHER.includes(folder)).flatMap(partsOf);
  return small.length > 0 ? [...others, together(small, WORKERS)] : others;
}

/** The suites of these packages without their slow files, in so many parts: a part runs one test file at a time. */
export function quickSuites(folders, parts) {
  const groups = Array.from({ length: parts }, () => ({ folders: [], files: 0 }));
  const sized = withSuite(folders).map((folder) => ({ folder, files: testFiles(folder) }));
  for (const { folder, files } of sized.sort((a, b) => b.files - a.files)) {
    const smallest = groups.reduce((least, group) => (group.files < least.files ? group : least));
    smallest.folders.push(folder);
    smallest.files += files;
  }
  return groups
    .filter((group) => group.folders.length > 0)
    .map((group) => together(group.folders, 1))
    .map((part) => ({ ...part, env: { ...part.env, RDMC_TEST_QUICK: '1' } }));
}

/** How many test files a suite has. */
function testFiles(folder) {
  const names = readdirSync(join(root, folder, 'test'), { recursive: true });
  return names.filter((name) => name.includes('.test.')).length;
}
