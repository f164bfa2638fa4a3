import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { CastError, codeOf, messageOf } from '../errors.js';
import { type ExtendedAttribute, isCarried, MAX_EXTENDED_BYTES } from './extended-attributes.js';

/** The calls of the system for extended attributes. They do not follow a link in the last component of the path. */
export interface AttributeCalls {
  list(path: string): string[];
  /** Null where there is none. */
  get(path: string, name: string): Buffer | null;
  set(path: string, name: string, value: Uint8Array): void;
  remove(path: string, name: string): void;
}

/** The part of `@napi-rs/xattr` that is used. Loaded when it is needed: most casts do not tell attributes. */
interface Library {
  listAttributesSync(path: string): string[];
  getAttributeSync(path: string, name: string): Buffer | null;
  setAttributeSync(path: string, name: string, value: Uint8Array): void;
  removeAttributeSync(path: string, name: string): void;
}

const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));
/** What the system says where a file system has no extended attributes, or not these. */
const NONE_HERE = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Calls whose errors have codes of the system. @throws CastError ERR_RDMC_ATTRIBUTES_UNAVAILABLE */
export function systemCalls(): AttributeCalls {
  const library = loaded();
  return {
    list: (path) => coded(() => library.listAttributesSync(path)),
    get: (path, name) => coded(() => library.getAttributeSync(path, name)),
    set: (path, name, value) => coded(() => library.setAttributeSync(path, name, value)),
    remove: (path, name) => coded(() => library.removeAttributeSync(path, name)),
  };
}

function loaded(): Library {
  try {
    return createRequire(import.meta.url)('@napi-rs/xattr') as Library;
  } catch (error) {
    const message = `extended attributes need the package @napi-rs/xattr, which cannot be loaded here: ${messageOf(error)}`;
    throw new CastError('ERR_RDMC_ATTRIBUTES_UNAVAILABLE', message, { cause: error });
  }
}

/** The library's errors have the number of the system in their text only. */
function coded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const number = Number(/\(os error (\d+)\)/.exec(messageOf(error))?.[1]);
    throw Object.assign(new Error(messageOf(error), { cause: error }), { code: NAMES.get(number) ?? 'EIO' });
  }
}

export function isNoneHere(error: unknown): boolean {
  return NONE_HERE.has(codeOf(error) ?? '');
}

/**
 * The attributes of an entry that are carried, sorted by name. Undefined where its file system does not have attributes.
 * @throws CastError ERR_RDMC_ATTRIBUTES_TOO_LARGE; errors of the system
 */
export function readExtended(
  calls: AttributeCalls,
  path: string,
  isRoot: boolean,
): ExtendedAttribute[] | undefined {
  let names: string[];
  try {
    names = calls.list(path);
  } catch (error) {
    if (isNoneHere(error)) return undefined;
    throw error;
  }
  const attributes: ExtendedAttribute[] = [];
  let bytes = 0;
  for (const name of names.filter((each) => isCarried(each, isRoot)).sort()) {
    const value = calls.get(path, name);
    // It was removed meanwhile.
    if (value === null) continue;
    bytes += name.length + value.length;
    attributes.push({ name, value });
  }
  if (bytes <= MAX_EXTENDED_BYTES / 2) return attributes;
  const message = `its extended attributes have ${bytes} bytes, more than ${MAX_EXTENDED_BYTES / 2}; cast it without archive`;
  throw new CastError('ERR_RDMC_ATTRIBUTES_TOO_LARGE', message);
}
