// Not `node:fs/promises`: tests replace it by modules that need this package.
import { promises, readlinkSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { onTestFinished, vi } from 'vitest';

/** The paths of the directories that this process syncs by a FileHandle from now on, until the end of the test. */
export async function syncedDirectories(): Promise<ReadonlySet<string>> {
  const handle = await promises.open('/', 'r');
  const methods = Object.getPrototypeOf(handle) as { sync: FileHandle['sync'] };
  await handle.close();
  const { sync } = methods;
  const synced = new Set<string>();
  const spy = vi.spyOn(methods, 'sync').mockImplementation(async function (this: FileHandle) {
    await sync.call(this);
    const link = `/proc/self/fd/${this.fd}`;
    if (statSync(link).isDirectory()) synced.add(readlinkSync(link));
  });
  onTestFinished(() => spy.mockRestore());
  return synced;
}
