/** By number: descriptors are used again, and then mean another directory under the same path. */
const heads: Buffer[] = [];

/**
 * Node has no openat: what lies in an open directory is reached through the kernel's name for the descriptor. No
 * part of the way to that directory is looked up again, so nobody can put a symbolic link there meanwhile.
 */
export function within(directory: number, name: Buffer | string): Buffer {
  heads[directory] ??= Buffer.from(`/proc/self/fd/${directory}/`);
  const head = heads[directory];
  return Buffer.concat([head, typeof name === 'string' ? Buffer.from(name) : name]);
}
