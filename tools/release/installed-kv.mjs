// @rdmc/kv as users install it: packed from a checkout, and installed into a folder.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { download } from '../tasks/download.mjs';

const KV = '@rdmc/kv';
/** Prints the tarballs that the package needs, packed by the checkout's own tools. */
const PACK = `
  import { chosenAddons } from './tools/release/addon.mjs';
  import { withNeeded } from './tools/release/order.mjs';
  import { packAll } from './tools/release/pack.mjs';
  const packed = packAll(process.argv[1], chosenAddons([]));
  const addon = packed.filter(({ manifest }) => manifest.os !== undefined);
  const all = [...addon, ...withNeeded(packed, ['${KV}'])];
  console.log(JSON.stringify([...new Set(all.map(({ tarball }) => tarball))]));`;

/**
 * @param checkout a folder with the repository, built
 * @param folder is made anew
 * @returns the path of the installed command
 */
export function installKv(checkout, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ['--input-type=module', '-e', PACK, join(folder, 'tarballs')];
  const output = execFileSync(process.execPath, args, { cwd: checkout, encoding: 'utf8' });
  const tarballs = JSON.parse(output.trim().split('\n').at(-1));
  writeFileSync(join(folder, 'package.json'), '{ "name": "installed", "private": true, "type": "module" }\n');
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs];
  download(`npm install of ${KV}`, 'npm', install, { cwd: folder, stdio: 'pipe' });
  return join(folder, 'node_modules', KV, 'dist', 'main.js');
}

/** A checkout of a commit beside this one, installed and built; kept in `folder` for the next time. */
export function builtCheckout(root, commit, folder) {
  if (existsSync(join(folder, 'built'))) return folder;
  removeCheckout(root, folder);
  execFileSync('git', ['worktree', 'add', '--detach', folder, commit], { cwd: root, stdio: 'pipe' });
  const options = { cwd: folder, stdio: 'inherit' };
  download(`npm ci of ${commit}`, 'npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], options);
  execFileSync(process.execPath, ['tools/tasks/build.mjs'], options);
  writeFileSync(join(folder, 'built'), '');
  return folder;
}

/** Removes such a checkout. */
export function removeCheckout(root, folder) {
  rmSync(folder, { recursive: true, force: true });
  execFileSync('git', ['worktree', 'prune'], { cwd: root, stdio: 'pipe' });
}
