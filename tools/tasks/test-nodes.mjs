// `npm run test:nodes`: each Node.js line that is supported, which comes from npm. Under each, the suites of packages and
// apps (the compliance suite among them), all examples, and `rdmc demo`; without the suites under the line that runs this,
// because `npm test` runs them. Arguments name lines: npm run test:nodes -- 22
// Before them, the declarations are compiled with TypeScript 5 and 7.
// With --smoke, for a push: under each line one example, which loads the addon, and two small suites under the newest; of the
// declarations one compilation by TypeScript 5.
// The addon is not built again: its Node-API is the same in all of them.
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { NODE_LINES } from './nightly-parts.mjs';
import { passParts } from './parts.mjs';
import { root, run, setUp, stop } from './setup.mjs';
import { suiteFolders, suitePlaces, suites, VITEST } from './suites.mjs';

const THIS_LINE = process.versions.node.split('.')[0];

/** Installs the newest version of a line; returns the folder of its `node`. */
function install(line) {
  const folder = join(root, 'node_modules', '.cache', 'rdmc-nodes', line);
  const name = `node-${process.platform}-${process.arch}`;
  const bin = join(folder, 'node_modules', name, 'bin');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(bin, 'node'))) {
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', `${name}@${line}`];
    run(`Node.js ${line} from npm`, 'npm', args, { download: true });
  }
  return bin;
}

/** The environment in which `node` is this line's. */
function environment(line) {
  const env = { PATH: `${install(line)}${delimiter}${process.env.PATH}` };
  const check = `process.exit(process.version.startsWith('v${line}.') ? 0 : 1)`;
  run(`Node.js ${line} is there`, 'node', ['-e', check], { env });
  return env;
}

/** The examples of the packages. */
function examples() {
  return readdirSync(join(root, 'packages'))
    .map((name) => join('packages', name))
    .filter((cwd) => existsSync(join(root, cwd, 'example.mjs')))
    .map((cwd) => ({ label: `example of ${cwd}`, command: 'node', args: ['example.mjs'], cwd, seconds: 5 }));
}

const DEMO = {
  label: 'rdmc demo',
  command: 'node',
  args: ['apps/rdmc/bin/rdmc', 'demo', '--members', '4', '--size', '16MiB'],
  seconds: 10,
};

/** `npm test` compiles by TypeScript 7. */
const COMPILERS = {
  label: 'TypeScript 5 and 7, with each resolution of modules',
  command: 'node',
  args: [VITEST, 'run', 'test/packed.test.mjs'],
  cwd: 'tools/release',
  env: { RDMC_TEST_COMPILERS: 'all' },
  seconds: 60,
};

/** What runs under one line. */
function partsOf(line, smoke) {
  if (!smoke) {
    const tested =
      line === THIS_LINE ? [] : suites(suiteFolders().filter((folder) => !folder.startsWith('tools/')));
    return [...tested, ...examples(), DEMO];
  }
  const small = line === NODE_LINES.at(-1) ? suites(['packages/common', 'packages/node']) : [];
  return [...examples().filter(({ cwd }) => cwd === join('packages', 'group')), ...small];
}

const smoke = process.argv[2] === '--smoke';
const asked = process.argv.slice(smoke ? 3 : 2);
const unknown = asked.find((line) => !NODE_LINES.includes(line));
if (unknown) stop(`Node.js ${unknown} is not tested; there are: ${NODE_LINES.join(', ')}`);
setUp();
/** What of it runs for a push. */
const ONE_COMPILER = {
  ...COMPILERS,
  label: 'TypeScript 5',
  args: [...COMPILERS.args, '-t', 'TypeScript 5, nodenext'],
};
if (asked.length === 0) await passParts([smoke ? ONE_COMPILER : COMPILERS]);
for (const line of asked.length > 0 ? asked : NODE_LINES) {
  const env = environment(line);
  const parts = partsOf(line, smoke).map((part) => ({
    ...part,
    label: `Node.js ${line}: ${part.label}`,
    env: { ...part.env, ...env },
  }));
  await passParts(parts, suitePlaces);
}
