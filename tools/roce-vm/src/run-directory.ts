import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'roce-vm-';

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A directory for one run; its name has this process's id. Those of processes that were killed are removed. */
export function makeRunDirectory(): string {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || alive(Number(pid))) continue;
    // Another user's stays.
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    } catch {}
  }
  return mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
}
