import { constants } from 'node:fs';

/** Opens a directory, and no symbolic link to one. */
export const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** By number: a reused descriptor is another directory with the same path. */
const heads: Buffer[] = [];

/**
 * Node has no openat: entries of an open directory are reached through the kernel's path of the descriptor. The path of
 * that directory is not resolved again, so a symbolic link that is put there meanwhile has no effect.
 */
export function within(directory: number, name: Buffer | string): Buffer {
  heads[directory] ??= Buffer.from(`/proc/self/fd/${directory}/`);
  const head = heads[directory];
  return Buffer.concat([head, typeof name === 'string' ? Buffer.from(name) : name]);
}
