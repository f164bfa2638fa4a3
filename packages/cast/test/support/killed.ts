import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { temporaries } from './receivers.js';

/** Another directory, with the temporary directories of this one as their process would leave them if it was killed now. */
export function asAfterKill(directory: string): string {
  const copy = temporaryDirectory();
  for (const name of temporaries(directory)) {
    cpSync(join(directory, name), join(copy, name), { recursive: true, preserveTimestamps: true });
    chmodSync(join(copy, name), 0o700);
    const owner = join(copy, name, 'owner');
    writeFileSync(owner, JSON.stringify({ ...JSON.parse(readFileSync(owner, 'utf8')), pid: 0x3fff_ffff }));
  }
  return copy;
}
