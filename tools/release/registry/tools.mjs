// The registry and the package managers, from npm, in a folder of their own: a user's project has none of them.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { download } from '../../tasks/download.mjs';
import { root } from '../../tasks/setup.mjs';

const SOURCE = fileURLToPath(new URL('tools/', import.meta.url));
const FILES = ['package.json', 'package-lock.json', '.npmrc'];

function digest() {
  const hash = createHash('sha256');
  for (const name of FILES) hash.update(readFileSync(join(SOURCE, name)));
  return hash.digest('hex').slice(0, 16);
}

function fill(folder) {
  for (const name of FILES) copyFileSync(join(SOURCE, name), join(folder, name));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  download('npm ci of the package managers', 'npm', args, { cwd: folder, stdio: 'pipe' });
}

/** The folder `node_modules` of the tools, which is installed once for each content of their lock file. */
export function installedTools() {
  const base = join(root, 'node_modules', '.cache', 'rdmc-release-tools');
  const final = join(base, digest());
  if (!existsSync(final)) {
    mkdirSync(base, { recursive: true });
    const draft = mkdtempSync(join(base, '.draft-'));
    try {
      fill(draft);
      if (!existsSync(final)) renameSync(draft, final);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return join(final, 'node_modules');
}
