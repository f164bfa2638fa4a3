// The addon for arm64, built on x86-64.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compiler } from './compiler.mjs';
import { inside, root } from './folder.mjs';
import { Missing } from './missing.mjs';

/**
 * Builds it, or what changed since the last time; returns its path.
 * @param {readonly string[]} flags of the compiler, after those of the addon
 */
export function buildAddon(flags = []) {
  if (process.arch !== 'x64')
    throw new Missing(`the compiler for arm64 runs on x86-64, and this is ${process.arch}`);
  const CXX = compiler();
  const verbs = join(root, 'packages', 'verbs');
  const copy = inside(flags.length === 0 ? 'native' : `native${flags.join('')}`);
  // Sources that were deleted would still be there; the build itself stays.
  for (const part of ['binding', 'core', 'gyp', 'ibv', 'portable', 'soft']) {
    rmSync(join(copy, part), { recursive: true, force: true });
  }
  const sources = (path) => !path.startsWith(join(verbs, 'native', 'build'));
  cpSync(join(verbs, 'native'), copy, { recursive: true, preserveTimestamps: true, filter: sources });
  const script = join(verbs, 'scripts', 'build-native.mjs');
  const args = [script, '--strict', '--portable', '--arch', 'arm64', '--folder', copy];
  const env = { ...process.env, CXX, CXXFLAGS: flags.join(' '), NODE_PATH: join(root, 'node_modules') };
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'inherit' });
  if (status !== 0) throw new Error('the addon for arm64 does not build; see above');
  return join(copy, 'build', 'Release', 'rdmc_verbs.node');
}
