/**
 * Node has no openat: what lies in an open directory is reached through the kernel's name for the descriptor. No
 * part of the way to that directory is looked up again, so nobody can put a symbolic link there meanwhile.
 */
export function within(directory: number, name: Buffer | string): Buffer {
  const head = Buffer.from(`/proc/self/fd/${directory}/`);
  return Buffer.concat([head, Buffer.from(name as Buffer)]);
}
