// The folder of everything for arm64: packages of Debian and npm, unpacked and not installed, and the build.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLate, lateDownload } from '../../tasks/download.mjs';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** RDMC_ARM64_CACHE replaces it, so that it survives a new clone. */
export const folder = resolve(
  process.env.RDMC_ARM64_CACHE || join(root, 'node_modules', '.cache', 'rdmc-arm64'),
);

/** A folder inside. */
export function inside(name) {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Runs a command; returns its output, or the last line that it printed as the reason of its failure. */
export function attempt(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 << 20, ...options });
  if (result.status === 0) return { output: result.stdout };
  if (isLate(result)) return { problem: lateDownload(`${command} ${args[0]}`) };
  const lines = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim().split('\n');
  return { problem: result.error?.message ?? lines.at(-1) ?? `${command} ended with ${result.status}` };
}
