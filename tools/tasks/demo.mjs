// `npm run demo`: installs, builds, and multicasts a real file among real processes.
// Arguments go to `rdmc demo`: npm run demo -- --members 4
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root, setUp } from './setup.mjs';

setUp();
const command = join(root, 'apps', 'rdmc', 'dist', 'main.js');
const result = spawnSync(process.execPath, [command, 'demo', ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(result.status ?? 1);
