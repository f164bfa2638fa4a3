// `npm run test:long`: the searches that take minutes, in every test file that names RDMC_TEST_LONG.
// Arguments choose those whose name contains one of them: npm run test:long -- packages/group chaos
// With --smoke it only checks that they can run: the files are loaded and their tests listed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { passParts } from './parts.mjs';
import { root, setUp, stop } from './setup.mjs';
import { suiteFolders } from './suites.mjs';

/** Test files of one package that have long searches, relative to its folder. */
function filesOf(folder) {
  const entries = readdirSync(join(root, folder, 'test'), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.includes('.test.'))
    .map(({ name }) => join('test', name))
    .filter((file) => readFileSync(join(root, folder, file), 'utf8').includes('RDMC_TEST_LONG'));
}

/** Random deaths of members, with seeds that npm test does not run. */
const CHAOS = {
  label: 'test-e2e/test/chaos.test.ts, 100 seeds',
  command: 'npx',
  args: ['vitest', 'run', 'test/chaos.test.ts'],
  cwd: 'test-e2e',
  env: { RDMC_CHAOS_RUNS: '100' },
};

/** The protocols' tests, with their worker side in the application's thread. */
const INLINE = ['packages/group', 'packages/hipower'].map((folder) => ({
  label: `${folder}, driven in the application's thread`,
  command: 'npx',
  args: ['vitest', 'run'],
  cwd: folder,
  env: { RDMC_TEST_THREAD: 'application' },
}));

const smoke = process.argv[2] === '--smoke';
const asked = process.argv.slice(smoke ? 3 : 2);
const parts = [
  ...(smoke ? [] : [CHAOS, ...INLINE]),
  ...suiteFolders().flatMap((folder) =>
    filesOf(folder).map((file) => ({
      label: `${folder}/${file}`,
      command: 'npx',
      args: smoke ? ['vitest', 'list', file] : ['vitest', 'run', file],
      cwd: folder,
      env: { RDMC_TEST_LONG: '1' },
    })),
  ),
];
const chosen = parts.filter(({ label }) => asked.length === 0 || asked.some((text) => label.includes(text)));
if (chosen.length === 0)
  stop(`No search is called so; there are:\n${parts.map(({ label }) => label).join('\n')}`);
setUp();
await passParts(chosen);
