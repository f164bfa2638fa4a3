// `npm run build`: every package and the native addon, with the same cache as `npm run demo` and `npm test`.
import { spawnSync } from 'node:child_process';
import { root, tool, turboArgs, turboEnv } from './setup.mjs';

const args = [...turboArgs(), ...process.argv.slice(2)];
const env = { ...process.env, ...turboEnv() };
const { status } = spawnSync(tool('turbo'), args, { cwd: root, env, stdio: 'inherit' });
process.exit(status ?? 1);
