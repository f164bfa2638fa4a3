import { invalidOption } from './errors.js';

/** Returns the paths as bytes: names on disk need not be text. @throws CastError ERR_RDMC_INVALID_OPTION */
export function checkPaths(paths: unknown): Uint8Array[] {
  if (!Array.isArray(paths) || paths.length === 0) throw invalidOption('paths: at least one path is needed');
  return paths.map((path: unknown, index) => {
    const valid = (typeof path === 'string' || path instanceof Uint8Array) && path.length > 0;
    if (!valid || Buffer.from(path as Uint8Array).includes(0)) {
      throw invalidOption(`paths[${index}]: needed a path as text or bytes`);
    }
    return new Uint8Array(Buffer.from(path as Uint8Array));
  });
}
