import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Directory of the kernels: below the user's cache directory (XDG base directory specification). */
export function cacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'roce-vm');
}

/** Names of complete entries, newest version last. */
export function cached(): string[] {
  try {
    const names = readdirSync(cacheDirectory()).filter((name) => !name.startsWith('.'));
    return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  } catch {
    return [];
  }
}

/**
 * An entry gets its name when it is complete; if two processes create the same one, the
 * first one wins and the other uses that entry.
 */
export function fill(name: string, make: (directory: string) => void): string {
  const base = cacheDirectory();
  const final = join(base, name);
  mkdirSync(base, { recursive: true });
  const draft = mkdtempSync(join(base, '.draft-'));
  try {
    make(draft);
    if (!cached().includes(name)) renameSync(draft, final);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return final;
}

export function clearCache(): void {
  rmSync(cacheDirectory(), { recursive: true, force: true });
}
