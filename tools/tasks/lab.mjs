// Runs a command of apps/lab with the arguments of this process, after a build of what it runs.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root, setUp } from './setup.mjs';

/** @param {'reproduce' | 'report'} name */
export function lab(name) {
  setUp();
  const command = join(root, 'apps', 'lab', 'dist', `${name}.js`);
  const child = spawn(process.execPath, [command, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // A terminal sends SIGINT to both: the command ends its program first.
  process.on('SIGINT', () => {});
  child.on('close', (code, signal) => process.exit(signal ? 1 : code));
}
