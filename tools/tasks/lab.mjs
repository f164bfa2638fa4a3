// Runs a command of apps/lab with the arguments of this process, after a build of what it runs.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, setUp } from './setup.mjs';

/** @param {'reproduce' | 'report'} name */
export function lab(name) {
  setUp();
  const command = join(root, 'apps', 'lab', 'dist', `${name}.js`);
  const result = spawnSync(process.execPath, [command, ...process.argv.slice(2)], { stdio: 'inherit' });
  process.exit(result.status ?? 1);
}
