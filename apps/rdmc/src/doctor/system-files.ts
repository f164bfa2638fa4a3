import { readFileSync } from 'node:fs';

/** A file of /proc or /sys as text, or `undefined` where it does not exist or may not be read. */
export function readSystemFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** The soft limit of one line of /proc/self/limits; Infinity for `unlimited`. */
export function softLimit(name: string, limits = readSystemFile('/proc/self/limits')): number | undefined {
  const line = limits?.split('\n').find((candidate) => candidate.startsWith(name));
  const value = line?.slice(name.length).trim().split(/\s+/)[0];
  if (value === undefined) return undefined;
  return value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value);
}

/** A field of /proc/meminfo, in bytes. */
export function memoryField(name: string, meminfo = readSystemFile('/proc/meminfo')): number | undefined {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(meminfo ?? '');
  return match ? Number(match[1]) * 1024 : undefined;
}
