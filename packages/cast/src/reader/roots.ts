import { realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { CastError, codeOf, invalidOption, messageOf } from '../errors.js';
import { checkPath, shown } from '../stream/paths.js';
import type { Root } from './entries.js';
import { SourceTree } from './source-tree.js';

/**
 * Gives each path its name in the cast: its last component, as with scp. A path that is a symbolic link is followed,
 * because the user named it explicitly; the entry keeps the name of the link.
 * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_UNREADABLE, ERR_RDMC_DUPLICATE_NAME, ERR_RDMC_INVALID_OPTION
 */
export function resolveRoots(paths: readonly Uint8Array[]): Root[] {
  const names = new Map<string, Uint8Array>();
  return paths.map((given) => {
    const root = resolveRoot(Buffer.from(given));
    const key = root.name.toString('latin1');
    const other = names.get(key);
    if (other !== undefined) {
      throw new CastError(
        'ERR_RDMC_DUPLICATE_NAME',
        `${shown(other)} and ${shown(given)} would both arrive as ${shown(root.name)}; rename one, or cast one after the other`,
      );
    }
    names.set(key, given);
    return root;
  });
}

function resolveRoot(given: Buffer): Root {
  // latin1 keeps every byte, so that the functions of node:path do not change paths that are not UTF-8.
  const text = given.toString('latin1');
  const absolute = text.startsWith('/') ? text : `${Buffer.from(process.cwd()).toString('latin1')}/${text}`;
  const name = Buffer.from(basename(resolve(absolute)), 'latin1');
  if (name.length === 0) {
    throw invalidOption(
      `${shown(given)} does not have a name to arrive under; give the entries in it instead`,
    );
  }
  checkPath(name);
  try {
    const source = realpathSync(Buffer.from(absolute, 'latin1'), 'buffer');
    return { source, name, tree: new SourceTree(source) };
  } catch (cause) {
    const missing = codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR';
    throw new CastError(
      missing ? 'ERR_RDMC_NOT_FOUND' : 'ERR_RDMC_UNREADABLE',
      missing ? `${shown(given)} does not exist` : `${shown(given)} cannot be read: ${messageOf(cause)}`,
      { cause },
    );
  }
}
