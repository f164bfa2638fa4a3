// `npm run test:nodes`: the suites of packages and apps under other Node.js versions, which come from npm.
// With --smoke two small suites, one of which loads the addon, under the newest version. The addon is not built again:
// its Node-API is the same in all of them.
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { NODE_LINES } from './nightly-parts.mjs';
import { passParts } from './parts.mjs';
import { root, run, setUp } from './setup.mjs';
import { suites } from './suites.mjs';

/** Installs the newest version of a line; returns the folder of its `node`. */
function install(line) {
  const folder = join(root, 'node_modules', '.cache', 'rdmc-nodes', line);
  const name = `node-${process.platform}-${process.arch}`;
  const bin = join(folder, 'node_modules', name, 'bin');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(bin, 'node'))) {
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', `${name}@${line}`];
    run(`Node.js ${line} from npm`, 'npm', args);
  }
  return bin;
}

const smoke = process.argv[2] === '--smoke';
const lines = smoke ? NODE_LINES.slice(-1) : NODE_LINES;
setUp();
for (const line of lines) {
  const env = { PATH: `${install(line)}${delimiter}${process.env.PATH}` };
  run(
    `Node.js ${line} is there`,
    'node',
    ['-e', `process.exit(process.version.startsWith('v${line}.') ? 0 : 1)`],
    {
      env,
    },
  );
  const chosen = smoke ? suites(['packages/common', 'packages/node']) : suites();
  const tested = chosen.filter(({ cwd }) => !cwd.startsWith('tools/'));
  await passParts(tested.map((part) => ({ ...part, label: `Node.js ${line}: ${part.label}`, env })));
}
