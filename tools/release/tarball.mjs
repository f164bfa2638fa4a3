// Tarballs, made and read by the commands npm and tar.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Packs these folders with one npm, whose start takes longer than packing; returns the tarballs by package name. */
export function packFolders(folders, out) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out, ...folders];
  const printed = execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const packed = JSON.parse(printed.slice(printed.search(/[[{]/)));
  const entries = Array.isArray(packed) ? packed : Object.values(packed);
  return new Map(entries.map(({ name, filename }) => [name, join(out, tarballName(filename))]));
}

/** npm 10 prints the scope's characters, which the file's name does not have. */
function tarballName(filename) {
  return filename.replace('@', '').replace('/', '-');
}

/** Unpacks a tarball as an installation does, without its outermost folder. */
export function unpack(tarball, folder) {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
  return folder;
}
