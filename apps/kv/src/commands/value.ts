import { CommandError, WRONG_TYPE } from '../resp/command-error.js';
import type { Hash, KeyEntry } from '../store/hash.js';

/** The string of a key; undefined where the key does not exist. @throws CommandError WRONGTYPE: it has another type */
export function stringOf(entry: KeyEntry | undefined): string | undefined {
  const value = entry?.value;
  if (typeof value === 'object') throw new CommandError(WRONG_TYPE);
  return value;
}

/** The hash of a key, likewise. */
export function hashOf(entry: KeyEntry | undefined): Hash | undefined {
  const value = entry?.value;
  if (typeof value === 'string') throw new CommandError(WRONG_TYPE);
  return value;
}

/** The name of a key's type, as TYPE answers it. */
export function typeOf(entry: KeyEntry | undefined): 'none' | 'string' | 'hash' {
  if (entry?.value === undefined) return 'none';
  return typeof entry.value === 'string' ? 'string' : 'hash';
}
