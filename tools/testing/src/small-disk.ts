import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './temporary.js';

/** Whether this process may mount file systems. Root in a container may not be allowed to. */
export function mayMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  const directory = mkdtempSync(join(tmpdir(), 'rdmc-mount-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', directory]).status === 0;
  if (mounted) unmount(directory);
  rmdirSync(directory);
  return mounted;
}

/** A directory on a file system of its own, gone at the end of the test. @param options of a tmpfs: `size=1m` */
export function smallDisk(options: string): string {
  const directory = temporaryDirectory('rdmc-small-disk');
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]);
  onTestFinished(() => unmount(directory));
  return directory;
}

/** Lazily: something may still have a file open there. */
function unmount(directory: string): void {
  execFileSync('umount', ['-l', directory]);
}
